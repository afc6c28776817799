// How many are in flight at once: a quota that brings what holds and releases its slots.

export type { SlotsQuota } from './algorithms/quota-types.ts'
export { acquire } from './features/slots/acquire.ts'
export { heldSlots } from './features/slots/heartbeat.ts'
export { type InFlightOptions, inFlight } from './features/slots/in-flight.ts'
export type { AcquireOptions, Slot, SlotHolder, SlotsQuotas } from './limiter/slot-holder.ts'

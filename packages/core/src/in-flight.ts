// How many are in flight at once: a quota that brings what holds and releases its slots.

export { acquire } from './features/slots/acquire.ts'
export { type InFlightOptions, inFlight } from './features/slots/in-flight.ts'
export type { AcquireOptions, Slot, SlotHolder } from './limiter/slot-holder.ts'

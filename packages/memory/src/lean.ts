export { perDay, perHour, perMinute, perSecond } from '@spillway/core/lean'
export type { ConsumingStore } from './counting-store.ts'
export { consumingStore, memoryStore } from './lean-store.ts'

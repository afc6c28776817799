export { perDay, perHour, perMinute, perSecond } from '@spillway/core/lean'
export { memoryStore } from './lean-store.ts'

export type { Pm2 } from './pm2.ts'
export { type PrimaryStore, type PrimaryStoreOptions, primaryStore } from './primary-store.ts'
export type { Child } from './runtime.ts'
export { type WorkerStoreOptions, workerStore } from './worker-store.ts'

/** A process, as far as messages are sent to it. */
export interface Child {
  on(event: 'message', listener: (message: unknown) => void): unknown
  send?(message: never, handle: undefined, options: undefined, onSent: (error: Error | null) => void): boolean
}

/** A worker of `node:cluster`. */
interface ClusterWorker {
  readonly process: object
  send(message: unknown, handle: undefined, options: undefined, onSent: (error: Error | null) => void): boolean
}

/** What is used of `node:cluster`. */
export interface Cluster {
  readonly isWorker: boolean
  readonly workers?: Readonly<Record<string, ClusterWorker | undefined>>
  on(event: 'message', listener: (worker: ClusterWorker, message: unknown) => void): unknown
}

/** What is used of the global `process`. */
export interface Process {
  readonly connected?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  readonly channel?: { unrefCounted?(): void }
  readonly send?: (
    message: unknown,
    handle: undefined,
    options: undefined,
    onSent: (error: Error | null) => void,
  ) => boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
  getBuiltinModule?(name: 'node:cluster'): Cluster | undefined
}

/** The process that this runs in. */
export const thisProcess = (): Process => (globalThis as unknown as { readonly process: Process }).process

/** Its `node:cluster`, if the runtime has one. */
export const thisCluster = (): Cluster | undefined => thisProcess().getBuiltinModule?.('node:cluster')

/** Whether PM2 has started this process, or one that has. */
export const isUnderPm2 = (): boolean => thisProcess().env['pm_id'] !== undefined

/** What to do there. */
export const UNDER_PM2 =
  "Under PM2, the primary is PM2's daemon, which runs no code of yours: write primaryStore({ pm2 }) in an app of one instance, with import pm2 from 'pm2', and workerStore() in all others."

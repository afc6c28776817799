/** How busy the event loop was since the last reading. */
export interface LoopReading {
  /** How long its timers were late on average, in ms: what arrives waits for about as long. */
  readonly lagMs: number
  /** The share of the time that it was not idle, 0 to 1. */
  readonly utilization: number
}

/** Reads the event loop: each reading is of the time since the one before. */
export type ReadLoop = () => LoopReading

interface Utilization {
  readonly utilization: number
}

interface PerfHooks {
  monitorEventLoopDelay(options: { resolution: number }): {
    readonly count: number
    readonly mean: number
    enable(): void
  }
  readonly performance: {
    now(): number
    eventLoopUtilization(now?: Utilization, before?: Utilization): Utilization
  }
}

// Not imported: edge runtimes do not have the module.
declare const process: { getBuiltinModule?: (name: string) => Partial<PerfHooks> | undefined } | undefined

/** How often the delay is measured, in ms. */
const RESOLUTION = 10

/** The event loop of Node; undefined in a runtime that does not report it. */
export function nodeLoop(): ReadLoop | undefined {
  const hooks = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:perf_hooks')
  const { monitorEventLoopDelay, performance } = hooks ?? {}
  if (typeof monitorEventLoopDelay !== 'function' || typeof performance?.eventLoopUtilization !== 'function')
    return undefined
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION })
  delays.enable()
  // Differences, as a reset would lose the turn that is running.
  let before = { busy: performance.eventLoopUtilization(), count: 0, sum: 0, at: performance.now() }
  return () => {
    const [busy, at] = [performance.eventLoopUtilization(), performance.now()]
    const { utilization } = performance.eventLoopUtilization(busy, before.busy)
    const count = Number(delays.count)
    // A loop that has not turned is late since then.
    if (count === before.count) return { lagMs: Math.max(0, at - before.at - RESOLUTION), utilization }
    const sum = delays.mean * count
    const mean = (sum - before.sum) / (count - before.count) / 1e6
    before = { busy, count, sum, at }
    return { lagMs: Math.max(0, mean - RESOLUTION), utilization }
  }
}

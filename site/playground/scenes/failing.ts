import type { Store } from '@spillway/core'
import { httpGuard } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { ALGORITHMS, functionIn } from '../algorithms.ts'
import { keyBy, type Run, reader, replyOf, runSlowApp, startOf } from '../app.ts'
import { withClock } from '../clock.ts'
import type { LaneKind } from '../lane-kind.ts'
import type { Choices } from '../link.ts'
import type { Arrival, Traffic } from '../traffic.ts'

const { quota: quotaOf, code: codeOf } = ALGORITHMS.token

const MODES = {
  local: 'Counts in the process',
  allow: 'Allows all',
  deny: 'Denies all',
  throw: 'Throws',
} as const

/** A remote store that fails in the middle third of the run, in each failure mode. */
export function failing(choices: Choices): readonly LaneKind[] {
  const code = codeOf(choices)
  return Object.entries(MODES).map(([mode, name]) => {
    const option = `onStoreError: '${mode}'`
    return {
      id: mode,
      name,
      code: option,
      options: [`quota: ${code}`, option],
      remote: true,
      imports: [functionIn(code)],
      left: 'units left in the store',
      run: (traffic) => runFailing(mode as keyof typeof MODES, traffic, choices),
    }
  })
}

function runFailing(onStoreError: keyof typeof MODES, traffic: Traffic, choices: Choices): Promise<Run> {
  const { apart, headers } = choices
  const quota = quotaOf(choices)
  const start = startOf(quota.window)
  const clock = { now: start }
  const outage = { from: traffic.span / 3, to: (2 * traffic.span) / 3 }
  const working = memoryStore({ clock: () => clock.now })
  const isDown = (): boolean => clock.now - start >= outage.from && clock.now - start < outage.to
  const store: Store = {
    async take(ops) {
      if (isDown()) throw new Error('connect ECONNREFUSED 10.0.0.5:6379')
      return working.takeSync(ops)
    },
    delete: working.delete,
  }
  const keyOf = keyBy(apart)
  const guard = httpGuard<Arrival>(
    { quota, key: keyOf, cost: ({ cost }) => cost, headers, store, onStoreError, logger: { warn: () => {} } },
    reader,
  )
  const bucket = { name: 'the store', policy: 'default', key: keyOf({ client: 'you' }), quota, store: working }
  const app = { clock, answer: (arrival: Arrival) => replyOf(guard, arrival), buckets: [bucket], outage }
  return withClock(clock, () => runSlowApp(app, traffic))
}

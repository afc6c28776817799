import { perMinute, type Store, type StoreError, type Take } from '../src/index.ts'
import { stepFor } from '../src/internal.ts'
import { breaker } from '../src/remote/breaker.ts'
import { deadlineIn } from '../src/remote/deadline.ts'
import { TimedCall } from '../src/remote/timed-call.ts'

/** A call whose answer is its result. */
class WorkCall extends TimedCall<unknown, unknown> {
  readonly send: () => unknown

  constructor(...[store, key, deadline, logger, send]: [...ConstructorParameters<typeof TimedCall>, () => unknown]) {
    super(store, key, deadline, logger)
    this.send = send
  }

  read(answer: unknown): unknown {
    return answer
  }
}

export const lost = () => Promise.reject(new Error('connection lost'))
export const well = () => Promise.resolve('well')

/** A breaker on a clock that stands still, before a store whose states live in two shards: `a…` and `b…`. */
export function setUp(store: Partial<Store> = { slotOf: ({ key }) => key.charAt(0) }) {
  let now = 0
  const log: string[] = []
  const taken: (readonly Take[])[] = []
  const take = async (ops: readonly Take[]) => {
    taken.push(ops)
    return []
  }
  const circuit = breaker({ take, delete: async () => 0, ...store }, { now: () => now })
  const logger = { warn: (message: string) => log.push(message) }
  const call = (work: () => unknown, key = 'a', deadlineMs = 1_000): Promise<unknown> =>
    circuit.call(new WorkCall(store as Store, { policy: 'p', key }, deadlineIn(deadlineMs * 1_000), logger, work))
  const outcome = (work: () => unknown, key?: string, deadlineMs?: number): Promise<string> =>
    call(work, key, deadlineMs).then(String, ({ reason }: StoreError) => reason)
  const open = async (key = 'a') => {
    for (let i = 0; i < 5; i++) await outcome(lost, key)
  }
  const refund = (key = 'a'): readonly Take[] => [{ policy: 'p', key, step: stepFor(perMinute(10), 'refund', 1) }]
  return {
    call,
    circuit,
    log,
    outcome,
    open,
    refund,
    taken,
    pass: (millis: number) => {
      now += millis
    },
  }
}

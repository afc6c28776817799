import {
  fixedWindow,
  type ListedState,
  penalty,
  type SentStep,
  type StateKey,
  type Step,
  slidingLog,
  slidingWindow,
  type Take,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { evictOldest, formatThrown, receivedStep } from '@spillway/core/internal'
import type { MemoryStore } from '../store.ts'
import type { Answer, Call, Reply, Request, SentOp } from './messages.ts'

/** What builds the quotas of each algorithm: workers have built theirs, and the store needs the algorithms, too. */
const ALGORITHMS: Readonly<Record<Step['kernel'], readonly unknown[]>> = {
  bucket: [tokenBucket],
  'sliding-window': [slidingWindow, fixedWindow],
  'sliding-log': [slidingLog],
  'warm-up': [warmingUp],
  penalty: [penalty],
  slots: [inFlight],
}

/** How many lists are under way at most: a worker may end within one. */
const MOST_LISTS = 100

/** Answers requests of workers by a store. */
export function serving(store: MemoryStore): (request: Request, reply: (reply: Reply) => void) => void {
  const lists = new Map<string, AsyncIterator<readonly ListedState[]>>()
  const run = (call: Call, steps: readonly Step[]): unknown => {
    switch (call[0]) {
      case 'takeEach': {
        // All batches of a call are at one moment.
        const at = call[2] ?? store.clock?.()
        return call[1].map((ops) => store.takeSync(takesOf(ops, steps), at))
      }
      case 'delete':
        return store.deleteSync(call[1].map(([policy, key]): StateKey => ({ policy, key })))
      case 'deleteAll':
        return store.deleteAll?.(call[1])
      case 'list':
        return nextOf(lists, call[3], () => store.list?.(call[1], steps[call[2]] as Step))
    }
  }
  return ({ name, id, steps, calls }, reply) => {
    const received = steps.map(checkedStep)
    const answers = calls.map((call): Answer | Promise<Answer> => {
      try {
        const value = run(call, received)
        return value instanceof Promise ? value.then((each) => ({ value: each }), errorOf) : { value }
      } catch (error) {
        return errorOf(error)
      }
    })
    const send = (all: readonly Answer[]): void => reply({ name, id, answers: all })
    if (answers.some((each) => each instanceof Promise)) void Promise.all(answers).then(send)
    else send(answers as Answer[])
  }
}

const errorOf = (error: unknown): Answer => ({ error: formatThrown(error) })

function checkedStep(step: SentStep): Step {
  if (!Object.hasOwn(ALGORITHMS, step.kernel)) throw new TypeError(`the algorithm ${step.kernel} is unknown`)
  return receivedStep(step)
}

const takesOf = (ops: readonly SentOp[], steps: readonly Step[]): readonly Take[] =>
  ops.map(([policy, key, step]) => ({ policy, key, step: steps[step] as Step }))

/** The next chunk of a list; `null` at its end. */
async function nextOf(
  lists: Map<string, AsyncIterator<readonly ListedState[]>>,
  id: string,
  start: () => AsyncIterable<readonly ListedState[]> | undefined,
): Promise<readonly ListedState[] | null> {
  const list = lists.get(id) ?? start()?.[Symbol.asyncIterator]()
  if (list === undefined) return null
  lists.set(id, list)
  evictOldest(lists, MOST_LISTS)
  const { done, value } = await list.next()
  if (done) lists.delete(id)
  return done ? null : value
}

import type { Micros, State, Store } from '@spillway/core'
import { formatValue, withRemoteDefaults } from '@spillway/core/internal'
import { type Ask, attemptIn, baseOf, checkNow, listing, namesOfKeys } from './base.ts'
import {
  type Answers,
  answersOf,
  apart,
  type Call,
  namesIn,
  rerunOn,
  runCalls,
  type Takings,
  unexpired,
  type Work,
} from './calls.ts'
import { coalescing, takenOf } from './coalesce.ts'
import type { CompareAndSetDriver, StoreBaseOptions, VersionedState } from './drivers.ts'
import { paused } from './retry.ts'
import { NO_STATE, stateIn, textOf } from './state-text.ts'
import { answerBy, TimeoutError, type Until, untilIn } from './until.ts'

const METHODS = ['now', 'get', 'compareAndSet']

/** What was read of the names of a call. */
type Found<V> = Map<string, VersionedState<V> | undefined>

/**
 * Returns a remote store over a database that can compare and set one value. The calls of an event-loop tick for one key are one
 * write, and each key has one write of this process at a time: only other processes can come between. A denial writes nothing.
 *
 * A batch of several keys is written key by key. If another process uses up a later key meanwhile, the earlier ones are rolled
 * back; until then, a request may be denied that would have fit. A key that was changed meanwhile is not rolled back: its units
 * stay consumed. So do those of a write whose answer was lost.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the driver or an option is invalid
 */
export function compareAndSetStore<V>(driver: CompareAndSetDriver<V>, options: StoreBaseOptions = {}): Store {
  const base = baseOf('compareAndSetStore', driver, METHODS, options)
  const { timeoutMs, failure, callOf } = base
  const send = (calls: readonly Call[], until: Until): Promise<Answers> =>
    answerBy(until, written(driver, calls, until))
  const ask: Ask = (work) => {
    const until = untilIn(timeoutMs)
    const answer = Promise.resolve(attemptIn(until, 0)).then(work)
    return answerBy(until, answer).catch((error: unknown) => Promise.reject(failure(error, timeoutMs)))
  }
  const take = coalescing({ send, timeoutMs, failure, split: apart })
  return withRemoteDefaults<Store>({
    ...base.traits,
    take: (ops, at, deadline) => (ops.length === 0 ? Promise.resolve([]) : take(callOf(ops, at, deadline))),
    takeEach: async (batches, at, deadline) => {
      const calls = batches.map((ops) => callOf(ops, at, deadline))
      const answers = await send(calls, untilIn(timeoutMs, deadline)).catch((error: unknown) =>
        Promise.reject(failure(error, timeoutMs)),
      )
      return answers.map((_, i) => takenOf(answers, i))
    },
    delete: (keys) => ask((attempt) => driver.delete(namesOfKeys(base, keys), attempt)),
    ...listing(driver, base, ask, async () => checkNow(await driver.now())),
  })
}

/** Runs calls until they are written, or there is nothing to write. */
async function written<V>(driver: CompareAndSetDriver<V>, calls: readonly Call[], until: Until): Promise<Answers> {
  const names = namesIn(calls)
  for (let number = 0; ; number++) {
    const found: Found<V> = new Map(
      await Promise.all(names.map(async (name) => [name, checkVersioned(await driver.get(name))] as const)),
    )
    const now = checkNow(await driver.now())
    const sent = unexpired(calls)
    const work: Work = { states: statesIn(found), changed: new Map() }
    const takings = runCalls(sent, work, now)
    if (await writeAll(driver, { found, work, sent, takings, until })) return answersOf(calls, sent, takings)
    if (!(await paused(number, until))) {
      throw new TimeoutError(`other processes have changed the key at each of ${number + 1} tries`)
    }
  }
}

function statesIn(found: Found<unknown>): Map<string, State> {
  const states = new Map<string, State>()
  for (const [name, each] of found) {
    const state = each && stateIn(each.state, name)
    if (state !== undefined) states.set(name, state)
  }
  return states
}

/** Calls that are being written. */
interface Writing<V> {
  readonly found: Found<V>
  readonly work: Work
  readonly sent: readonly Call[]
  readonly takings: Takings
  readonly until: Until
}

/** Writes what calls have changed. Returns false if nothing is written, because another process has changed a key. */
async function writeAll<V>(driver: CompareAndSetDriver<V>, writing: Writing<V>): Promise<boolean> {
  const { found, work, until } = writing
  const done: string[] = []
  try {
    for (const name of [...work.changed.keys()].sort()) {
      for (let number = 0; !(await write(driver, name, found.get(name)?.version, work)); number++) {
        // The calls start again, unless some of their keys are written: then they go on.
        if (done.length === 0) return false
        if (!((await paused(number, until)) && (await readAgain(driver, name, writing)))) {
          await rollBack(driver, done, writing)
          return false
        }
      }
      done.push(name)
    }
    return true
  } catch (error) {
    await rollBack(driver, done, writing).catch(() => {})
    throw error
  }
}

async function write<V>(
  driver: CompareAndSetDriver<V>,
  name: string,
  version: V | undefined,
  { states, changed }: Work,
): Promise<boolean> {
  const isWritten: unknown = await driver.compareAndSet(
    name,
    textOf(states.get(name)),
    version,
    changed.get(name) as Micros,
  )
  if (typeof isWritten === 'boolean') return isWritten
  throw new TypeError(
    `compareAndSet must return true if it has written, and false if the version was another; got ${formatValue(isWritten)}`,
  )
}

/** Reads a key again that another process has changed. Returns false if the calls do not fit any more. */
async function readAgain<V>(
  driver: CompareAndSetDriver<V>,
  name: string,
  { found, work, sent, takings }: Writing<V>,
): Promise<boolean> {
  const again = checkVersioned(await driver.get(name))
  found.set(name, again)
  const state = again && stateIn(again.state, name)
  if (state === undefined) work.states.delete(name)
  else work.states.set(name, state)
  return rerunOn(name, sent, takings, work, checkNow(await driver.now()))
}

/** Rolls back the keys that are written; what another process has changed since stays consumed. */
async function rollBack<V>(
  driver: CompareAndSetDriver<V>,
  names: readonly string[],
  { found, work: { states, changed } }: Writing<V>,
): Promise<void> {
  for (const name of names) {
    const current = checkVersioned(await driver.get(name))
    if (current?.state !== textOf(states.get(name))) continue
    await driver.compareAndSet(name, found.get(name)?.state ?? NO_STATE, current.version, changed.get(name) as Micros)
  }
}

function checkVersioned<V>(found: VersionedState<V> | undefined): VersionedState<V> | undefined {
  if (found === undefined || (found?.state !== undefined && found.version !== undefined)) return found
  throw new TypeError(
    `get must return { state, version } as they were written, or undefined if there is none; got ${formatValue(found)}`,
  )
}

import {
  type ListedState,
  type Micros,
  QuotaError,
  type State,
  type StateKey,
  type Step,
  type Store,
} from '@spillway/core'
import {
  checkOptions,
  checkSecret,
  formatValue,
  type MaybePromise,
  printableScope,
  REMOTE_LOG_LIMIT,
  runKernel,
  takenOf,
} from '@spillway/core/internal'
import type { Call, Work } from './calls.ts'
import {
  type Attempt,
  checkDriver,
  type Driver,
  type ExpiringRow,
  type StateRow,
  type StoreBaseOptions,
} from './drivers.ts'
import { failing } from './failure.ts'
import { type Crypto, endOf, type Names, nameAfter, namesOf } from './names.ts'
import { millis } from './options.ts'
import { stateIn, textOf } from './state-text.ts'
import type { Until } from './until.ts'

/** What the stores of all drivers share. */
export interface Base {
  readonly names: Names
  readonly timeoutMs: number
  readonly failure: ReturnType<typeof failing>
  readonly traits: Pick<Store, 'scope' | 'maxLogLimit'>
  callOf(ops: Call['ops'], at?: Micros, deadline?: Call['deadline']): Call
}

/** Checks a driver and the options, and returns what the store is made of. */
export function baseOf(what: string, driver: Driver, methods: readonly string[], options: StoreBaseOptions): Base {
  checkDriver(what, driver, methods)
  checkOptions(what, options, ['deadline', 'hashKeys'])
  const { kind, client, table = '', longestName = 512 } = driver
  const longestPolicy = Math.floor((longestName - 1) / 2)
  const hashKeys = 'hashKeys' in options ? checkSecret(what, options.hashKeys) : undefined
  const names = namesOf({
    crypto: cryptoFor(what),
    longestPolicy,
    longestKey: longestName - 1 - longestPolicy,
    hashKeys,
  })
  return {
    names,
    timeoutMs: millis(`${what} deadline`, options.deadline ?? '1s'),
    failure: failing(driver),
    traits: { scope: printableScope(kind, client, table), maxLogLimit: REMOTE_LOG_LIMIT },
    callOf: (ops, at, deadline) => ({ ops, names: ops.map(names.of), at, deadline }),
  }
}

declare const process: { getBuiltinModule?: (name: string) => unknown } | undefined

/** Found without an import, which bundlers for the edge could not resolve. */
function cryptoFor(what: string): Crypto {
  const crypto = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:crypto')
  if (crypto !== undefined) return crypto as Crypto
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} needs node:crypto for the hashes of long keys. In a Worker, add nodejs_compat to compatibility_flags.`,
  )
}

/** A time before September 2001, or after 2286, is in another unit. */
const [EARLIEST, LATEST] = [1e15, 1e16]

/** Checks the time that a driver has returned. */
export function checkNow(now: unknown): Micros {
  if (typeof now === 'number' && Number.isSafeInteger(now) && now >= EARLIEST && now < LATEST) return now
  throw new TypeError(
    `now must return whole microseconds since 1970, such as Date.now() * 1000: a number, no text and no bigint; got ${formatValue(now)}`,
  )
}

/** Reads rows that a driver has returned. */
export function workOn(rows: unknown, names: readonly string[]): Work {
  const states = new Map<string, State>()
  for (const { name, state: text } of checkRows('lock', rows)) {
    if (!names.includes(name))
      throw new TypeError(`lock must return rows with the names that it was called with; got ${formatValue(name)}`)
    const state = stateIn(text, name)
    if (state !== undefined) states.set(name, state)
  }
  return { states, changed: new Map() }
}

function checkRows(method: string, rows: unknown): readonly StateRow[] {
  if (Array.isArray(rows)) return rows
  throw new TypeError(`${method} must return an array of rows { name, state }; got ${formatValue(rows)}`)
}

/** The rows that are to be written. */
export const rowsOf = ({ states, changed }: Work): readonly ExpiringRow[] =>
  [...changed].map(([name, expiresAt]) => ({ name, state: textOf(states.get(name)), expiresAt }))

/** The maximum number of states that are deleted or listed at once. */
const MOST_ROWS = 1_000

/** Calls a driver, and throws a `StoreError` if that fails. */
export type Ask = <T>(work: (attempt: Attempt) => MaybePromise<T>) => Promise<T>

/** The methods of a store that can list its states. */
export function listing(
  driver: Driver,
  { names }: Base,
  ask: Ask,
  now: () => Promise<Micros>,
): Pick<Store, 'list' | 'deleteAll'> {
  if (driver.list === undefined) return {}
  async function* chunks(policy: string): AsyncGenerator<readonly StateRow[]> {
    const start = names.startOf(policy)
    for (let [from, isLast] = [start, false]; !isLast; ) {
      const rows = checkRows('list', await ask(() => (driver as Required<Driver>).list(from, endOf(start), MOST_ROWS)))
      yield rows
      isLast = rows.length < MOST_ROWS
      from = nameAfter(rows.at(-1)?.name ?? start)
    }
  }
  return {
    async *list(policy: string, step: Step): AsyncGenerator<readonly ListedState[]> {
      const start = names.startOf(policy)
      for await (const rows of chunks(policy)) {
        const at = await now()
        yield rows.flatMap(({ name, state: text }) => {
          const state = stateIn(text, name)
          if (state === undefined) return []
          return [{ ...names.keyIn(start, name), taken: takenOf(runKernel(state, at, step), at, step, false) }]
        })
      }
    },
    async deleteAll(policies) {
      let deleted = 0
      for (const policy of policies) {
        for await (const rows of chunks(policy)) {
          if (rows.length > 0)
            deleted += await ask((attempt) =>
              driver.delete(
                rows.map(({ name }) => name),
                attempt,
              ),
            )
        }
      }
      return deleted
    },
  }
}

/** The terms of a try. */
export const attemptIn = ({ sendByMs }: Until, number: number): Attempt => ({ number, sendByMs })

/** The names of states. */
export const namesOfKeys = ({ names }: Base, keys: readonly StateKey[]): readonly string[] => [
  ...new Set(keys.map(names.of)),
]

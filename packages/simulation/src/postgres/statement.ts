import type { Micros } from '@spillway/core'
import type { PgQuery } from '@spillway/postgres'
import { batchesOf, type Effect, effectOf, intentsOf, type Keyspace, runBatches } from '../batches.ts'
import { reportOf, stepsIn } from './steps.ts'
import { takeBucket } from './take-bucket.ts'

/** The rows that a statement returns, and what it has consumed or refunded. */
export interface Result {
  readonly rows: readonly unknown[]
  readonly effects: readonly Effect[]
}

/** The rows of the table. */
export interface Rows extends Keyspace {
  names(): readonly string[]
  /** Deletes expired rows, and returns how many. */
  sweep(most: number): number
}

/** A statement of the store. */
export interface Statement {
  /** Whether it makes the table and the functions. */
  readonly migrates?: boolean
  /** What it needs: the functions of the migration, or nothing. */
  readonly needs: 'functions' | 'nothing'
  /** Whether it locks rows, or would, before it knows whether it writes: a read-only server rejects it. */
  readonly locks: boolean
  /** How long it waits for a row that another transaction has locked, in milliseconds. */
  readonly lockTimeoutMs: number
  /** What it would consume or refund. */
  readonly intents: readonly Effect[]
  /** Runs it. `sentAt` is the server's time when it arrived: it may have waited for locks since. */
  run(rows: Rows, sentAt: Micros): Result
}

/** The parameters of the SQL function `take_calls`, but the last. */
type Calls = readonly [names: string, steps: string, calls: string, at: Micros | null, lockTimeoutMs: string]

const NO_EFFECT = { intents: [], lockTimeoutMs: Number.POSITIVE_INFINITY, locks: false }

/** Reads a statement by its text, and the parameters that the store sends with it. */
export function statementOf({ text, values }: PgQuery): Statement {
  if (values === undefined)
    return { ...NO_EFFECT, needs: 'nothing', migrates: true, run: () => ({ rows: [], effects: [] }) }
  const [, name] = /^SELECT (?:deleted, last FROM |CASE WHEN .* ELSE )?"public"\."spillway_(\w+)"\(/.exec(text) ?? []
  if (name === 'version') return { ...NO_EFFECT, needs: 'functions', run: () => VERSIONS }
  if (name === 'take_calls') return takeOf(values as unknown as Calls)
  if (name === 'take_bucket') return takeBucketOf(values)
  if (name === 'sweep') return sweepOf(values as [number])
  if (name === 'delete_keys') return deletionOf(values as [string, string])
  if (name === 'delete_range') return rangeDeletionOf(values as unknown as Range)
  if (name === 'names_in') return namesOf(values as unknown as Range)
  throw new Error(`The simulated server does not know: ${text}`)
}

/** A version that is later than any other: there is nothing to migrate. */
const VERSIONS: Result = { rows: [{ version: 1_000_000 }], effects: [] }

function takeOf([names, stepsText, calls, at, lockTimeoutMs]: Calls): Statement {
  const batches = batchesOf(names.split('\n'), stepsIn(stepsText), calls.split(' ').map(Number))
  return {
    needs: 'functions',
    locks: false,
    lockTimeoutMs: Number(lockTimeoutMs),
    intents: intentsOf(batches),
    run(space) {
      const now = at ?? space.now()
      const answers = runBatches(space, now, batches)
      const taken = [now, ...answers.flatMap(reportOf)].join(' ')
      return { rows: [{ taken }], effects: answers.flatMap(effectOf) }
    },
  }
}

function takeBucketOf(values: readonly unknown[]): Statement {
  const [name, , , , , count] = values as [string, unknown, unknown, unknown, unknown, number]
  const [steps, at, lockTimeoutMs] = values.slice(11) as [string, Micros | null, string]
  const calls = takeOf([name, steps, Array.from({ length: count }, () => '1 1 1').join(' '), at, lockTimeoutMs])
  return {
    ...calls,
    locks: true,
    run(space, sentAt) {
      const fast = takeBucket(space, at ?? sentAt, values)
      if (fast === undefined) return calls.run(space, sentAt)
      const [numbers, effects] = fast
      return { rows: [{ taken: numbers.join(' ') }], effects }
    },
  }
}

const deletionOf = ([names, lockTimeoutMs]: readonly [string, string]): Statement => ({
  ...NO_EFFECT,
  needs: 'functions',
  lockTimeoutMs: Number(lockTimeoutMs),
  locks: true,
  run(space) {
    const found = names.split('\n').filter((name) => space.read(name) !== undefined)
    for (const name of found) space.delete(name)
    return { rows: [{ deleted: found.length }], effects: [] }
  },
})

/** Names from the first on, before the second, and how many at most. */
type Range = readonly [from: string, end: string, most: number, lockTimeoutMs: string]

const inRange = (rows: Rows, [from, end, most]: Range): readonly string[] =>
  rows
    .names()
    .filter((name) => name >= from && name < end)
    .sort((a, b) => (a < b ? -1 : 1))
    .slice(0, most)

const rangeDeletionOf = (range: Range): Statement => ({
  ...NO_EFFECT,
  needs: 'functions',
  lockTimeoutMs: Number(range[3]),
  locks: true,
  run(rows) {
    const found = inRange(rows, range)
    for (const name of found) rows.delete(name)
    return { rows: [{ deleted: found.length, last: found.at(-1) ?? null }], effects: [] }
  },
})

const namesOf = (range: Range): Statement => ({
  ...NO_EFFECT,
  needs: 'functions',
  run: (rows) => ({ rows: inRange(rows, range).map((name) => ({ name })), effects: [] }),
})

const sweepOf = ([most]: readonly [number]): Statement => ({
  ...NO_EFFECT,
  needs: 'functions',
  locks: true,
  run: (rows) => ({ rows: [{ swept: rows.sweep(most) }], effects: [] }),
})

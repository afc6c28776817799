import { bucketStep, LATEST, LONGEST } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import { LuaInterpreter } from './lua.ts'
import type { Path } from './path.ts'
import type { Claims, Property } from './solver.ts'
import {
  type Bool,
  boolean,
  both,
  equal,
  field,
  implies,
  logical,
  NULL,
  number,
  type Obj,
  object,
  UNDEFINED,
  type Value,
} from './values.ts'

/** The numbers of a step and a state, of any size that a store may hold. */
const MOST = LATEST + LONGEST

/** Whether two values are the same, in all their fields. */
function same(a: Value, b: Value): Bool {
  if (a.kind === 'number' && b.kind === 'number') return equal(a, b)
  if (a.kind === 'boolean' && b.kind === 'boolean') return logical(`(= ${a.term} ${b.term})`)
  if (a.kind === 'const' && b.kind === 'const') return boolean(a.value === b.value)
  if (a.kind !== 'object' || b.kind !== 'object') return boolean(false)
  const names = Object.keys(a.fields)
  if (names.length !== Object.keys(b.fields).length) return boolean(false)
  return both(...names.map((name) => same(field(a, name), field(b, name))))
}

/** A step as it is sent: without what is `null` or `false`. */
const sent = (step: Obj): Obj =>
  object(
    Object.fromEntries(
      Object.entries(step.fields)
        .filter(([, value]) => value !== NULL && !(value.kind === 'boolean' && value.known === false))
        .map(([name, value]) => [name, value.kind === 'object' ? sent(value) : value]),
    ),
  )

/** Unknown numbers by their names, each from the least to the most. */
const inputs = (path: Path, prefix: string, ranges: Readonly<Record<string, readonly [number, number]>>): Obj =>
  object(
    Object.fromEntries(
      Object.entries(ranges).map(([name, [least, most]]) => [name, path.input(`${prefix}_${name}`, least, most)]),
    ),
  )

const REFUNDED = { tat: [-MOST, MOST], gross: [0, MOST], turn: [0, MOST] } as const

/** The states of a key. */
const STATES: Readonly<Record<string, (path: Path) => Value>> = {
  'a new key': () => UNDEFINED,
  'a number': (path) => path.input('state', -MOST, MOST),
  'a bucket with refunds': (path) => inputs(path, 'state', REFUNDED),
}

const free = [0, LONGEST] as const
const NUMBERS = {
  increment: [-LONGEST, LONGEST],
  check: free,
  tolerance: free,
  ceiling: free,
  burst: free,
  maxWaitMicros: free,
  until: [0, Number.MAX_SAFE_INTEGER],
  ends: [0, MOST],
} as const

/** Runs a function in both languages, and claims that the results are the same, and are exact where one of them is. */
function compared(path: Path, results: () => Obj, others: () => Obj): Claims {
  const mine = results()
  const pairs = Object.entries(mine.fields)
  const ranges = path.ranges.length
  const theirs = others()
  return {
    ...Object.fromEntries(pairs.map(([name, value]) => [name, same(value, field(theirs, name))])),
    'as exact': implies(both(...path.ranges.slice(0, ranges)), both(...path.ranges.slice(ranges))),
  }
}

/** That the bucket kernel is the same in TypeScript and in Lua, if it refills continuously, in whole microseconds. */
export function bucketEquality(source: string, script: string): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  for (const [state, stateOf] of Object.entries(STATES)) {
    properties[`a bucket, in the state of ${state}`] = (path) => {
      const [found, now] = [stateOf(path), path.input('now', 1, LATEST)]
      const numbers = inputs(path, 'step', { ...NUMBERS, whole: [0, 1] }).fields
      const step = bucketStep({ ...numbers, whole: same(numbers.whole as Value, number(1)) })
      return compared(
        path,
        () => flat(new Interpreter(source, path).call('bucket', found, now, step) as Obj),
        () => {
          const lua = new LuaInterpreter(script, path)
          const values = lua.call('bucket', found, now, sent(step)) as Value[]
          const [allowed, base, next, taken, kept, grossNext, early, nextEarly, grossEarly] = values
          return object({ allowed, base, next, taken, kept, grossNext, early, nextEarly, grossEarly } as Obj['fields'])
        },
      )
    }
  }
  return properties
}

/** The outcome of the kernel with the names of the values of the Lua one. */
const flat = (outcome: Obj): Obj => {
  const { early, ...fields } = Object.fromEntries(
    Object.keys(outcome.fields).map((name) => [name, field(outcome, name)]),
  )
  const earlies = early as Value
  return object({
    ...fields,
    early: field(earlies, 'base'),
    nextEarly: field(earlies, 'tat'),
    grossEarly: field(earlies, 'gross'),
  })
}

/** That the window kernel is the same in TypeScript and in Lua. Calendars are not compared. */
export function windowEquality(source: string, script: string): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  for (const fixed of [false, true]) {
    for (const isNew of [false, true]) {
      const name = `a ${fixed ? 'fixed' : 'sliding'} window, in the state of ${isNew ? 'a new key' : 'a key that was used'}`
      properties[name] = (path) => {
        const counts = [0, 2 ** 52] as const
        const found = isNew ? UNDEFINED : inputs(path, 'state', { start: [0, MOST], current: counts, previous: counts })
        const now = path.input('now', 1, LATEST)
        const numbers = inputs(path, 'step', {
          increment: [-(2 ** 50), 2 ** 50],
          check: [-(2 ** 52), 2 ** 50],
          limit: [1, 2 ** 50],
          ticks: [1, LONGEST],
          tick: [1, LONGEST],
          most: counts,
          since: [0, MOST],
        })
        const step = object({ ...numbers.fields, fixed: boolean(fixed), calendar: NULL })
        return compared(
          path,
          () => new Interpreter(source, path).call('slidingWindow', found, now, step) as Obj,
          () => {
            const [allowed, base, next, taken, kept] = new LuaInterpreter(script, path).call(
              'slidingWindow',
              found,
              now,
              sent(step),
            ) as Value[]
            return object({ allowed, base, next, taken, kept } as Obj['fields'])
          },
        )
      }
    }
  }
  return properties
}

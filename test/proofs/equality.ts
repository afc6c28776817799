import { MOST_SCALE } from '../../packages/core/src/kernels/fraction.ts'
import { bucketStep, LATEST, LONGEST } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import { LuaInterpreter } from './lua.ts'
import { luaOutcome, sent } from './lua-kernel.ts'
import type { Path } from './path.ts'
import type { Claims, Property } from './solver.ts'
import {
  type Bool,
  below,
  boolean,
  both,
  difference,
  equal,
  field,
  implies,
  logical,
  NULL,
  type Num,
  number,
  type Obj,
  object,
  UNDEFINED,
  type Value,
  ZERO,
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

/** Unknown numbers by their names, each from the least to the most. */
const inputs = (path: Path, prefix: string, ranges: Readonly<Record<string, readonly [number, number]>>): Obj =>
  object(
    Object.fromEntries(
      Object.entries(ranges).map(([name, [least, most]]) => [name, path.input(`${prefix}_${name}`, least, most)]),
    ),
  )

const REFUNDED = { tat: [-MOST, MOST], gross: [0, MOST], turn: [0, MOST] } as const

const PARTS = [0, MOST_SCALE] as const

/** The states of a key. */
const STATES: Readonly<Record<string, (path: Path) => Value>> = {
  'a new key': () => UNDEFINED,
  'a number': (path) => path.input('state', -MOST, MOST),
  'a bucket with refunds': (path) => inputs(path, 'state', REFUNDED),
  'a bucket with parts of a microsecond': (path) =>
    inputs(path, 'state', { ...REFUNDED, scale: PARTS, early: PARTS, grossEarly: PARTS }),
}

/** The parts of a microsecond of a step: fewer than make one, and negative in a refund. */
function fractionOf(path: Path): Obj {
  const scale = path.input('scale', 2, MOST_SCALE)
  const { increment, ...parts } = inputs(path, 'parts', {
    increment: [-MOST_SCALE, MOST_SCALE],
    check: PARTS,
    tolerance: PARTS,
    burst: PARTS,
    until: PARTS,
  }).fields as Record<string, Num>
  path.assume(
    both(
      ...[increment as Num, difference(ZERO, increment as Num), ...Object.values(parts)].map((each) =>
        below(each, scale),
      ),
    ),
  )
  return object({ scale, increment: increment as Num, ...parts })
}

/** The level of a new key, which has parts of a microsecond if the step has. */
const startOf = (path: Path, hasParts: boolean): Obj =>
  object({
    ...inputs(path, 'start', { lacking: free, keep: free }).fields,
    early: hasParts ? path.input('start_early', ...PARTS) : ZERO,
  })

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

/** That the bucket kernel is the same in TypeScript and in Lua, if it refills continuously. */
export function bucketEquality(source: string, script: string): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  for (const [state, stateOf] of Object.entries(STATES)) {
    const add = (name: string, special: (path: Path) => Obj, run: typeof bucketClaims = bucketClaims): void => {
      properties[`${name}, in the state of ${state}`] = (path) => {
        const { whole, ...numbers } = inputs(path, 'step', { ...NUMBERS, whole: [0, 1] }).fields
        const isWhole = same(whole as Value, number(1))
        const step = bucketStep({ ...numbers, whole: isWhole, ...special(path).fields })
        return run(path, source, script, stateOf(path), path.input('now', 1, LATEST), step)
      }
    }
    const withParts = (path: Path): Obj => object({ fraction: fractionOf(path), start: startOf(path, true) })
    add('a bucket', () => object({}))
    add('a bucket with initial units', (path) => object({ start: startOf(path, false) }))
    add('a bucket of parts of a microsecond', (path) => object({ fraction: fractionOf(path) }))
    add('the start of a bucket of parts of a microsecond', withParts, startClaims)
  }
  return properties
}

const bucketClaims = (path: Path, source: string, script: string, state: Value, now: Num, step: Obj): Claims =>
  compared(
    path,
    () => new Interpreter(source, path).call('bucket', state, now, step) as Obj,
    () => luaOutcome(script, path, 'bucket', state, now, step),
  )

/** A bucket with a start reads it in one place only: what it then does is compared without. */
const startClaims: typeof bucketClaims = (path, source, script, state, now, step) =>
  compared(
    path,
    () => object({ state: new Interpreter(source, path).call('startedState', state, now, step) }),
    () => object({ state: new LuaInterpreter(script, path).call('startedState', state, now, sent(step))[0] as Value }),
  )

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
          () => luaOutcome(script, path, 'sliding-window', found, now, step),
        )
      }
    }
  }
  return properties
}

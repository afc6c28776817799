import { LATEST, LONGEST } from './bucket-model.ts'
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

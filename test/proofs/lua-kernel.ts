import type { Outcome } from '../../packages/core/src/kernels/kernel.ts'
import { LuaInterpreter } from './lua.ts'
import { Path } from './path.ts'
import type { Kernel } from './replay.ts'
import { literal, NULL, type Num, type Obj, object, UNDEFINED, type Value } from './values.ts'

const NAMES = { bucket: 'bucket', 'sliding-window': 'slidingWindow', penalty: 'penalty', 'warm-up': 'warmUp' } as const

/** The outcome of a kernel in Lua, with the names of the one in TypeScript. */
export function luaOutcome(lua: LuaInterpreter, kernel: keyof typeof NAMES, state: Value, now: Num, step: Obj): Obj {
  const values = lua.call(NAMES[kernel], state, now, sent(step)) as Value[]
  const [allowed, base, next, taken, kept, grossNext, early, nextEarly, grossEarly] = values
  const outcome = { allowed, base, next, taken, kept } as Obj['fields']
  if (kernel !== 'bucket') return object(outcome)
  const earlies = { base: early, tat: nextEarly, gross: grossEarly } as Obj['fields']
  return object({ ...outcome, grossNext: grossNext as Value, early: object(earlies) })
}

/** A step as it is sent: without what is `null` or `false`. */
export const sent = (step: Obj): Obj =>
  object(
    Object.fromEntries(
      Object.entries(step.fields)
        .filter(([, value]) => value !== NULL && !(value.kind === 'boolean' && value.known === false))
        .map(([name, value]) => [name, value.kind === 'object' ? sent(value) : value]),
    ),
  )

/** The kernels of a Lua script, run on numbers that are known. */
export const luaKernel =
  (script: string): Kernel =>
  (state, now, step) => {
    const kernel = step.kernel as keyof typeof NAMES
    const lua = new LuaInterpreter(script, new Path([]))
    const outcome = luaOutcome(lua, kernel, known(state), known(now) as Num, known(step) as Obj)
    return plain(outcome) as Outcome
  }

export function known(value: unknown): Value {
  if (value === undefined) return UNDEFINED
  if (typeof value !== 'object' || value === null) return literal(value)
  return object(Object.fromEntries(Object.entries(value).map(([name, each]) => [name, known(each)])))
}

export function plain(value: Value): unknown {
  if (value.kind === 'number' || value.kind === 'boolean') return value.known
  if (value.kind === 'const') return value.value
  return Object.fromEntries(Object.entries((value as Obj).fields).map(([name, each]) => [name, plain(each)]))
}

import { Interpreter } from './interpreter.ts'
import { LuaInterpreter } from './lua.ts'
import { luaOutcome, sent } from './lua-kernel.ts'
import type { Path } from './path.ts'
import { isWarmer, slowsDown } from './slowdown-model.ts'
import { elementsOf, listOf } from './sql-operations.ts'
import { SqlKernels } from './sql-outcome.ts'
import { asNumber, both, type Fun, field, implies, type Num, numeric, type Obj, object, type Value } from './values.ts'

export type KernelName = 'bucket' | 'sliding-window' | 'penalty' | 'warm-up'

/** The kernels of a language. Their steps, states and outcomes are as in TypeScript. */
export interface Kernels {
  outcome(kernel: KernelName, state: Value, now: Num, step: Obj): Obj
  /** The state that is stored for some ticks. */
  stateAt(ticks: Ticks, nowTick: Num, step: Obj): Value
  /** What units take longer while a key is cold. */
  slowdown(before: Num, after: Num, half: Num): Value
}

/** Runs kernels on a path. Functions that are compared apart, or not at all, are unknown ones if they are given. */
export type Language = (path: Path, apart?: Apart) => Kernels

/** The ticks of a bucket. */
export type Ticks = Readonly<Record<(typeof TICKS)[number], Value>>

const TICKS = ['tick', 'early', 'gross', 'grossEarly', 'turn'] as const

/** Functions that are the same in all languages: what they return depends on nothing but their arguments. */
export class Apart {
  readonly lengthOf: Fun['call']
  readonly slowdown: Fun['call']

  constructor(path: Path) {
    const unknown = (name: string, count: number): Fun['call'] => {
      path.definitions.push(`(declare-fun ${name} (${'Int '.repeat(count)}) Int)`)
      return (args) => path.name(numeric(`(${name} ${args.map((each) => asNumber(each).term).join(' ')})`))
    }
    this.lengthOf = unknown('lengthOf', 4)
    const slowdown = unknown('slowdown', 3)
    this.slowdown = (args) => {
      const [before, after, half] = args.map((each) => path.name(asNumber(each))) as [Num, Num, Num]
      const slower = slowdown([before, after, half]) as Num
      // This is proved of it.
      const proved = both(...Object.values(slowsDown(before, after, half, slower)))
      path.assume(implies(isWarmer(before, after, half), proved))
      return slower
    }
  }
}

const LENGTHS = ['block', 'grow', 'max'] as const

/** What TypeScript and Lua call by the same names. */
function separate(program: Pick<Interpreter, 'replace'>, { lengthOf, slowdown }: Apart): void {
  program.replace('lengthOf', ([step, level]) =>
    lengthOf([...LENGTHS.map((name) => field(step as Value, name)), level as Value]),
  )
  program.replace('slowdown', slowdown)
}

export const typeScript =
  (source: string): Language =>
  (path, apart) => {
    const program = new Interpreter(source, path)
    const ticksOf = ({ tick, early, gross, grossEarly, turn }: Ticks): Obj =>
      object({ base: object({ tick, early }), gross: object({ tick: gross, early: grossEarly }), turn })
    if (apart) {
      separate(program, apart)
      program.replace('stateAt', ([ticks]) => {
        const [base, gross, turn] = ['base', 'gross', 'turn'].map((name) => field(ticks as Value, name)) as Three
        const earlies = { early: field(base, 'early'), grossEarly: field(gross, 'early') }
        return object({ tick: field(base, 'tick'), gross: field(gross, 'tick'), turn, ...earlies })
      })
    }
    const names = { bucket: 'bucket', 'sliding-window': 'slidingWindow', penalty: 'penalty', 'warm-up': 'warmUp' }
    return {
      outcome: (kernel, state, now, step) => program.call(names[kernel], state, now, step) as Obj,
      stateAt: (ticks, nowTick, step) => program.call('stateAt', ticksOf(ticks), nowTick, step),
      slowdown: (...numbers) => program.call('slowdown', ...numbers),
    }
  }

type Three = [Value, Value, Value]

export const luaLanguage =
  (script: string): Language =>
  (path, apart) => {
    const lua = new LuaInterpreter(script, path)
    if (apart) {
      separate(lua, apart)
      lua.replace('stateAt', (args) => object(Object.fromEntries(TICKS.map((name, i) => [name, args[i] as Value]))))
    }
    return {
      outcome: (kernel, state, now, step) => luaOutcome(lua, kernel, state, now, step),
      stateAt: (ticks, nowTick, step) =>
        lua.call('stateAt', ...TICKS.map((name) => ticks[name]), nowTick, sent(step))[0] as Value,
      slowdown: (...numbers) => lua.call('slowdown', ...numbers)[0] as Value,
    }
  }

export const sqlLanguage =
  (source: string, text: string): Language =>
  (path, apart) => {
    const kernels = new SqlKernels(source, text, path, apart !== undefined)
    const { sql } = kernels
    if (apart) {
      sql.replace('penalty_length', ([step, level]) =>
        apart.lengthOf([...elementsOf(step as Value).slice(6, 9), level as Value]),
      )
      sql.replace('slowdown', apart.slowdown)
      sql.replace('state_at', ([tick, early, gross, grossEarly, turn]) =>
        listOf([tick, gross, turn, early, grossEarly] as readonly Value[]),
      )
    }
    return {
      outcome: (kernel, state, now, step) => kernels.outcome(kernel, state, now, step),
      stateAt: ({ tick, early, gross, grossEarly, turn }, nowTick, step) => {
        const args = [tick, early, gross, grossEarly, turn, nowTick, kernels.numbersOf(step)]
        return kernels.stateOf(elementsOf(sql.call('state_at', ...args)), step) as Value
      },
      slowdown: (...numbers) => sql.call('slowdown', ...numbers),
    }
  }

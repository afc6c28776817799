import { init, Z3_lbool } from 'z3-solver'
import { type Arithmetic, type Call, Fork, Path } from './path.ts'
import { type Bool, both, type Num, not } from './values.ts'

/** Inputs for which a property does not hold. */
export interface Counterexample {
  /** The part that does not hold. */
  readonly broken: string
  /** The inputs, and the numbers of each call: `call0_at`. */
  readonly values: ReadonlyMap<string, number>
  readonly calls: readonly Call[]
}

/** What has to hold, by name. */
export type Claims = Readonly<Record<string, Bool>>

/** Runs a program on unknown inputs, and claims something about the results. */
export type Property = (path: Path) => Claims

/** Makes properties of a model from what they claim of it, and claims that each number that it computes is exact. */
export const exactOver =
  <Model>(modelOf: (path: Path) => Model) =>
  (claimsOf: (model: Model) => Claims): Property =>
  (path) => {
    const claims = claimsOf(modelOf(path))
    return { ...claims, 'numbers stay exact': both(...path.ranges) }
  }

/** Decides whether properties hold for all inputs. */
export interface Solver {
  /** Inputs for which the property does not hold, of those that are wanted; undefined if it always holds. */
  counterexample(property: Property, wanted?: (path: Path) => readonly Bool[]): Promise<Counterexample | undefined>
  stop(): void
}

/** A limit for what hangs, in milliseconds. A question that takes longer fails. */
const TIMEOUT_MS = 600_000

export async function startSolver(arithmetic: Arithmetic = 6): Promise<Solver> {
  const { Z3, em } = await init()
  /** Inputs for which all conditions hold, and named numbers; undefined if there are none. Without names, whether there are. */
  const ask = async (path: Path, conditions: readonly Bool[], named?: readonly Named[]) => {
    const asserted = [...path.conditions, ...conditions].map(({ term }) => `(assert ${term})`)
    Z3.global_param_set('smt.arith.solver', String(path.arithmetic ?? arithmetic))
    const config = Z3.mk_config()
    Z3.set_param_value(config, 'timeout', String(TIMEOUT_MS))
    const context = Z3.mk_context(config)
    Z3.del_config(config)
    try {
      // Without the tactics of `mk_solver`, which take longer than what they save.
      const solver = Z3.mk_simple_solver(context)
      Z3.solver_inc_ref(context, solver)
      // Not by `eval_smtlib2_string`, which frees its text before another thread has read it.
      Z3.solver_from_string(
        context,
        solver,
        [...path.definitions, ...asserted, ...(named ?? []).map(definitionOf)].join('\n'),
      )
      const answer = await Z3.solver_check(context, solver)
      if (answer === Z3_lbool.Z3_L_UNDEF) {
        throw new Error(`undecided after ${TIMEOUT_MS} ms: ${Z3.solver_get_reason_unknown(context, solver)}`)
      }
      if (answer === Z3_lbool.Z3_L_FALSE) return undefined
      // The text of a model takes longer than to find it.
      if (named === undefined) return new Map<string, number>()
      const names = new Set([...path.inputs.keys(), ...named.map(([name]) => name)])
      return valuesOf(Z3.model_to_string(context, Z3.solver_get_model(context, solver)), names)
    } finally {
      Z3.del_context(context)
    }
  }
  /** The sides of a fork that some input takes: one at least, because some input takes this path. */
  const sidesOf = async (path: Path, condition: Bool): Promise<readonly boolean[]> => {
    if (!(await ask(path, [condition]))) return [false]
    return (await ask(path, [not(condition)])) ? [true, false] : [true]
  }
  const brokenOn = async (path: Path, claims: Claims, wanted: readonly Bool[]): Promise<Counterexample | undefined> => {
    if (!(await ask(path, [not(both(...Object.values(claims))), ...wanted]))) return undefined
    for (const [name, claim] of Object.entries(claims)) {
      const values = await ask(path, [not(claim), ...wanted], namesOf(path.calls))
      if (values) return { broken: name, values, calls: path.calls }
    }
    return undefined
  }
  return {
    async counterexample(property, wanted = () => []) {
      const open: boolean[][] = [[]]
      for (let decisions = open.pop(); decisions !== undefined; decisions = open.pop()) {
        const known = decisions
        const path = new Path(known)
        const claims = claimsOf(property, path)
        if (claims instanceof Fork) {
          open.push(...(await sidesOf(path, claims.condition)).map((side) => [...known, side]))
          continue
        }
        const broken = await brokenOn(path, claims, wanted(path))
        if (broken) return broken
      }
      return undefined
    },
    stop: () => em.PThread.terminateAllThreads(),
  }
}

function claimsOf(property: Property, path: Path): Claims | Fork {
  try {
    return property(path)
  } catch (error) {
    if (error instanceof Fork) return error
    throw error
  }
}

type Named = readonly [name: string, value: Num]

const definitionOf = ([name, { term }]: Named): string => `(declare-const ${name} Int)\n(assert (= ${name} ${term}))`

/** The numbers of the calls, with names. */
const namesOf = (calls: readonly Call[]): readonly Named[] =>
  calls.flatMap((call, i) =>
    (['at', 'cost', 'early', 'since'] as const).flatMap((what): readonly Named[] => {
      const value = call[what]
      return value === undefined ? [] : [[`call${i}_${what}`, value]]
    }),
  )

/** Reads numbers of a model, of which each line is as `a -> 1` or `a -> (- 2)`. */
function valuesOf(model: string, names: ReadonlySet<string>): ReadonlyMap<string, number> {
  const found = [...model.matchAll(/^(\w+) -> (?:(\d+)|\(- (\d+)\))$/gm)]
  const values = found.map(([, name = '', positive, negative]) => [name, Number(positive ?? `-${negative}`)] as const)
  return new Map(values.filter(([name]) => names.has(name)))
}

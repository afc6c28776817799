import type { CallExpression, ElseClause, Identifier, IfStatement, Statement } from 'luaparse'
import { type Bool, boolean, type Value } from './values.ts'

/** The names of the variables that are local to some statements. */
export const localsOf = (body: readonly Statement[]): ReadonlySet<string> =>
  new Set(body.flatMap((each) => (each.type === 'LocalStatement' ? each.variables.map(nameOfVariable) : [])))

const nameOfVariable = ({ name }: Identifier): string => name

/** A call with the place of its text, which the types of the parser leave out. */
type Placed = CallExpression & { readonly range?: readonly [start: number, end: number] }

/** Whether a call in the last place of a list is in parentheses, which the parser leaves out: it then is one value. */
export function isSingle(source: string, { range: [, end] = [0, 0] }: Placed, list: Placed | undefined): boolean {
  const after = source.slice(end, list?.range?.[1])
  return list === undefined ? /^\s*\)/.test(after) : after.replace(/\s/g, '') !== ')'
}

/** Whether a branch returns. */
export const returns = ({ clauses }: IfStatement): boolean =>
  clauses.some(({ body }) =>
    body.some((each) => each.type === 'ReturnStatement' || (each.type === 'IfStatement' && returns(each))),
  )

/** The branches of the first condition; those of the others are within the second. */
export function branchesOf({ clauses: [first, ...others] }: IfStatement) {
  const { condition, body: then } = first as Exclude<typeof first, ElseClause | undefined>
  const [next] = others
  if (next === undefined) return { condition, then, otherwise: [] }
  if (next.type === 'ElseClause') return { condition, then, otherwise: next.body }
  return { condition, then, otherwise: [{ type: 'IfStatement', clauses: others } as IfStatement] }
}

/** Only `nil` and `false` are not true: 0 is. */
export const truthOf = (value: Value): Bool =>
  value.kind === 'boolean' ? value : boolean(value.kind !== 'const' || typeof value.value === 'string')

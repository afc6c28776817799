import { expressionOf, type Sql } from './sql-expressions.ts'
import { Tokens } from './sql-tokens.ts'

/** A statement of a function; those of its branches are its body. */
export interface Statement {
  readonly kind: 'if' | 'while' | 'loop' | 'exit' | 'return' | 'assign' | 'select' | 'update' | 'insert'
  readonly name: string
  readonly exprs: readonly Sql[]
  readonly where: Sql | undefined
  readonly into: readonly string[]
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[]
}

/** A function of SQL or of PL/pgSQL. */
export interface SqlFunction {
  readonly parameters: readonly string[]
  /** Variables, with what they are at first. */
  readonly variables: readonly (readonly [name: string, value: Sql | undefined])[]
  readonly statements: readonly Statement[]
}

/** Whether statements leave the table as it is. Then both branches of a condition may run. */
export const isPure = (statements: readonly Statement[]): boolean =>
  statements.every(
    ({ kind, body, otherwise }) =>
      ['if', 'while', 'return', 'assign'].includes(kind) && isPure(body) && isPure(otherwise),
  )

/** Whether a condition has a branch that returns. */
export const returns = ({ kind, body, otherwise }: Statement): boolean =>
  kind === 'if' && [...body, ...otherwise].some((each) => each.kind === 'return' || returns(each))

const MADE: Omit<Statement, 'kind'> = { name: '', exprs: [], where: undefined, into: [], body: [], otherwise: [] }
const ENDS = ['END', 'ELSE', '']

function statementsOf(tokens: Tokens): readonly Statement[] {
  const found: Statement[] = []
  while (!ENDS.includes(tokens.first)) {
    found.push(statementOf(tokens))
    tokens.expect(';')
  }
  return found
}

function statementOf(tokens: Tokens): Statement {
  if (tokens.is('IF')) {
    const where = expressionOf(tokens)
    tokens.expect('THEN')
    const body = statementsOf(tokens)
    const otherwise = tokens.is('ELSE') ? statementsOf(tokens) : []
    tokens.expect('END', 'IF')
    return { ...MADE, kind: 'if', where, body, otherwise }
  }
  if (tokens.is('WHILE')) {
    const where = expressionOf(tokens)
    tokens.expect('LOOP')
    const body = statementsOf(tokens)
    tokens.expect('END', 'LOOP')
    return { ...MADE, kind: 'while', where, body }
  }
  if (tokens.is('FOR', 'attempt', 'IN')) {
    while (!tokens.is('LOOP')) tokens.next()
    const body = statementsOf(tokens)
    tokens.expect('END', 'LOOP')
    return { ...MADE, kind: 'loop', body }
  }
  if (tokens.is('EXIT', 'WHEN')) return { ...MADE, kind: 'exit', where: expressionOf(tokens) }
  if (tokens.is('RETURN')) return { ...MADE, kind: 'return', exprs: [expressionOf(tokens)] }
  if (tokens.is('SELECT')) {
    const exprs = listOf(tokens)
    tokens.expect('INTO')
    const into = namesOf(tokens)
    tokens.expect('FROM')
    expressionOf(tokens)
    tokens.expect('t', 'WHERE')
    return { ...MADE, kind: 'select', exprs, into, where: expressionOf(tokens) }
  }
  if (tokens.is('UPDATE')) return updateOf(tokens)
  if (tokens.is('INSERT', 'INTO')) {
    const into = expressionOf(tokens).args.map(({ name }) => name)
    tokens.expect('VALUES', '(')
    const exprs = listOf(tokens)
    tokens.expect(')', 'ON', 'CONFLICT', 'DO', 'NOTHING')
    return { ...MADE, kind: 'insert', exprs, into }
  }
  const name = tokens.next()
  tokens.expect(':=')
  return { ...MADE, kind: 'assign', name, exprs: [expressionOf(tokens)] }
}

function updateOf(tokens: Tokens): Statement {
  expressionOf(tokens)
  tokens.expect('t', 'SET')
  const exprs = listOf(tokens)
  tokens.expect('WHERE')
  const where = expressionOf(tokens)
  const returned = tokens.is('RETURNING') ? listOf(tokens) : []
  const into = tokens.is('INTO') ? namesOf(tokens) : []
  return { ...MADE, kind: 'update', exprs: [...exprs, ...returned], where, into }
}

const listOf = (tokens: Tokens): readonly Sql[] => tokens.list(() => expressionOf(tokens))
const namesOf = (tokens: Tokens): readonly string[] => tokens.list(() => tokens.next())

function variablesOf(tokens: Tokens): SqlFunction['variables'] {
  const found: [name: string, value: Sql | undefined][] = []
  while (!tokens.is('BEGIN')) {
    const name = tokens.next()
    while (![':=', ';'].includes(tokens.first)) tokens.next()
    found.push([name, tokens.is(':=') ? expressionOf(tokens) : undefined])
    tokens.expect(';')
  }
  return found
}

function functionOf(parameters: string, text: string): SqlFunction {
  const tokens = new Tokens(text)
  const names = parameters.split(',').map((each) => new Tokens(each).next())
  if (tokens.is('SELECT')) {
    return {
      parameters: names,
      variables: [],
      statements: [{ ...MADE, kind: 'return', exprs: [expressionOf(tokens)] }],
    }
  }
  const variables = tokens.is('DECLARE') ? variablesOf(tokens) : []
  tokens.is('BEGIN')
  return { parameters: names, variables, statements: statementsOf(tokens) }
}

const FUNCTION = /CREATE OR REPLACE FUNCTION "\w+"\."limits_(\w+)"\s*\(([^)]*)\) RETURNS .*?AS \$\$(.*?)\$\$/gs

/** The functions of a text by their names, of a table that is called `limits`. One that is not called is not read. */
export function parsedSql(source: string): ReadonlyMap<string, () => SqlFunction> {
  const found = [...source.matchAll(FUNCTION)] as unknown as readonly [string, string, string, string][]
  return new Map(
    found.map(([, name, parameters, text]) => {
      let known: SqlFunction | undefined
      return [name, () => (known ??= functionOf(parameters, text))]
    }),
  )
}

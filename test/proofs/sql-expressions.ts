import type { Tokens } from './sql-tokens.ts'

/** An expression of SQL. Operators and calls have a name and arguments; a name alone is a variable or a number. */
export interface Sql {
  readonly kind: 'name' | 'number' | 'operator' | 'call' | 'array' | 'row' | 'case'
  readonly name: string
  readonly args: readonly Sql[]
}

/** Operators from the weakest to the strongest. */
const LEVELS = [['OR'], ['AND'], ['NOT'], ['=', '<>', '<', '<=', '>', '>='], ['||'], ['+', '-'], ['*', '/', '%']]
const TESTS = [
  ['IS', 'NOT', 'TRUE'],
  ['IS', 'NOT', 'NULL'],
  ['IS', 'NULL'],
]
// Numbers stay below 2^53, which a float8 has exactly.
const TYPES = ['int', 'int8', 'float8', 'text']

const operator = (name: string, ...args: readonly Sql[]): Sql => ({ kind: 'operator', name, args })
const nameSql = (name: string): Sql => ({ kind: 'name', name, args: [] })
const numberSql = (name: string): Sql => ({ kind: 'number', name, args: [] })

/** Reads an expression of the part of SQL that kernels use. */
export function expressionOf(tokens: Tokens, level = 0): Sql {
  const operators = LEVELS[level]
  if (!operators) return suffixed(tokens, primary(tokens))
  if (operators[0] === 'NOT') {
    return tokens.is('NOT') ? operator('NOT', expressionOf(tokens, level)) : tested(tokens, level + 1)
  }
  let left = expressionOf(tokens, level + 1)
  while (operators.includes(tokens.first)) left = operator(tokens.next(), left, expressionOf(tokens, level + 1))
  return left
}

function tested(tokens: Tokens, level: number): Sql {
  const of = expressionOf(tokens, level)
  const test = TESTS.find((words) => tokens.is(...words))
  return test ? operator(test.join(' '), of) : of
}

/** Casts, elements and slices. */
function suffixed(tokens: Tokens, of: Sql): Sql {
  if (tokens.is('::')) {
    const type = tokens.next()
    if (!TYPES.includes(type)) throw new SyntaxError(`unknown type ${type}`)
    tokens.is('[', ']')
    return suffixed(tokens, operator('::', of))
  }
  if (!tokens.is('[')) return of
  const from = tokens.first === ':' ? numberSql('1') : expressionOf(tokens)
  const isSlice = tokens.is(':')
  const to = isSlice && tokens.first !== ']' ? [expressionOf(tokens)] : []
  tokens.expect(']')
  return suffixed(tokens, operator(isSlice ? '[:]' : '[]', of, from, ...to))
}

function primary(tokens: Tokens): Sql {
  if (tokens.is('(')) {
    const args = tokens.list(() => expressionOf(tokens))
    tokens.expect(')')
    return args.length === 1 ? (args[0] as Sql) : { kind: 'row', name: '', args }
  }
  if (tokens.is('-')) return operator('-', numberSql('0'), suffixed(tokens, primary(tokens)))
  if (tokens.is('ARRAY', '[')) {
    const args = tokens.list(() => expressionOf(tokens))
    tokens.expect(']')
    return { kind: 'array', name: '', args }
  }
  if (tokens.is('CASE')) return caseOf(tokens)
  const first = tokens.next()
  if (/^\d/.test(first)) return numberSql(first)
  if (!/^[\w']/.test(first)) throw new SyntaxError(`unexpected ${first}`)
  let name = first
  while (tokens.is('.')) name += `.${tokens.next()}`
  return tokens.is('(') ? callOf(tokens, name) : nameSql(name)
}

function callOf(tokens: Tokens, name: string): Sql {
  if (name === 'extract') while (!tokens.is('FROM')) tokens.next()
  const args = tokens.first === ')' ? [] : tokens.list(() => expressionOf(tokens))
  tokens.expect(')')
  return { kind: 'call', name, args }
}

/** Conditions and values by turns, and the value if no condition holds. */
function caseOf(tokens: Tokens): Sql {
  const args: Sql[] = []
  const subject = tokens.first === 'WHEN' ? undefined : expressionOf(tokens)
  while (tokens.is('WHEN')) {
    const condition = expressionOf(tokens)
    args.push(subject ? operator('=', subject, condition) : condition)
    tokens.expect('THEN')
    args.push(expressionOf(tokens))
  }
  args.push(tokens.is('ELSE') ? expressionOf(tokens) : nameSql('NULL'))
  tokens.expect('END')
  return { kind: 'case', name: '', args }
}

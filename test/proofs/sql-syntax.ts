/** An expression of SQL. Operators and calls have a name and arguments; a name alone is a variable or a number. */
export interface Sql {
  readonly kind: 'name' | 'number' | 'operator' | 'call' | 'array' | 'case'
  readonly name: string
  readonly args: readonly Sql[]
}

/** A statement of a function; those of its branches are its body. */
export interface Statement {
  readonly kind: 'if' | 'loop' | 'exit' | 'return' | 'assign' | 'select' | 'update' | 'insert'
  readonly name: string
  readonly exprs: readonly Sql[]
  readonly where: Sql | undefined
  readonly into: readonly string[]
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[]
}

const TOKEN = /\s*('[^']*'|"[^"]*"|::|:=|\.\.|<=|>=|<>|[-+*/%()<>=,;.[\]]|\w+)/y
/** Operators from the weakest to the strongest. */
const LEVELS = [['OR'], ['AND'], ['=', '<>', '<', '<=', '>', '>='], ['+', '-'], ['*', '/', '%']]
const ENDS = ['END', 'ELSE']
const TYPES = ['int', 'int8', 'text']

/** Reads the part of PL/pgSQL that functions of buckets use. */
class Parser {
  readonly #tokens: string[] = []
  #at = 0

  constructor(text: string) {
    TOKEN.lastIndex = 0
    for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) this.#tokens.push(found[1] as string)
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? ''
  }

  #is(...tokens: readonly string[]): boolean {
    if (!tokens.every((each, i) => this.#tokens[this.#at + i] === each)) return false
    this.#at += tokens.length
    return true
  }

  #expect(...tokens: readonly string[]): void {
    if (!this.#is(...tokens)) throw new SyntaxError(`expected ${tokens.join(' ')}, got ${this.#tokens[this.#at]}`)
  }

  statements(): readonly Statement[] {
    const found: Statement[] = []
    while (this.#at < this.#tokens.length && !ENDS.includes(this.#tokens[this.#at] as string)) {
      found.push(this.#statement())
      this.#expect(';')
    }
    return found
  }

  #statement(): Statement {
    const made = { name: '', exprs: [], where: undefined, into: [], body: [], otherwise: [] }
    if (this.#is('IF')) {
      const where = this.expression()
      this.#expect('THEN')
      const body = this.statements()
      const otherwise = this.#is('ELSE') ? this.statements() : []
      this.#expect('END', 'IF')
      return { ...made, kind: 'if', where, body, otherwise }
    }
    if (this.#is('FOR', 'attempt', 'IN')) {
      while (!this.#is('LOOP')) this.#next()
      const body = this.statements()
      this.#expect('END', 'LOOP')
      return { ...made, kind: 'loop', body }
    }
    if (this.#is('EXIT', 'WHEN')) return { ...made, kind: 'exit', where: this.expression() }
    if (this.#is('RETURN')) return { ...made, kind: 'return', exprs: [this.expression()] }
    if (this.#is('SELECT')) {
      const exprs = this.#list()
      this.#expect('INTO')
      const into = this.#names()
      this.#expect('FROM')
      this.#primary()
      this.#expect('t', 'WHERE')
      return { ...made, kind: 'select', exprs, into, where: this.expression() }
    }
    if (this.#is('UPDATE')) {
      this.#primary()
      this.#expect('t', 'SET')
      const exprs = this.#list()
      this.#expect('WHERE')
      const where = this.expression()
      const returned = this.#is('RETURNING') ? this.#list() : []
      const into = this.#is('INTO') ? this.#names() : []
      return { ...made, kind: 'update', exprs: [...exprs, ...returned], where, into }
    }
    if (this.#is('INSERT', 'INTO')) {
      const into = this.#primary().args.map(({ name }) => name)
      this.#expect('VALUES', '(')
      const exprs = this.#list()
      this.#expect(')', 'ON', 'CONFLICT', 'DO', 'NOTHING')
      return { ...made, kind: 'insert', exprs, into }
    }
    const name = this.#next()
    this.#expect(':=')
    return { ...made, kind: 'assign', name, exprs: [this.expression()] }
  }

  #names(): readonly string[] {
    const found = [this.#next()]
    while (this.#is(',')) found.push(this.#next())
    return found
  }

  #list(): readonly Sql[] {
    const found = [this.expression()]
    while (this.#is(',')) found.push(this.expression())
    return found
  }

  expression(level = 0): Sql {
    const operators = LEVELS[level]
    if (!operators) return this.#suffixed(this.#primary())
    let left = this.expression(level + 1)
    for (let name = this.#tokens[this.#at]; name && operators.includes(name); name = this.#tokens[this.#at]) {
      this.#at++
      left = { kind: 'operator', name, args: [left, this.expression(level + 1)] }
    }
    return left
  }

  #suffixed(of: Sql): Sql {
    if (this.#is('IS', 'NOT', 'TRUE')) return { kind: 'operator', name: 'IS NOT TRUE', args: [of] }
    if (this.#is('::')) {
      if (!TYPES.includes(this.#next())) throw new SyntaxError('unknown type')
      return this.#suffixed(of)
    }
    if (!this.#is('[')) return of
    const index = this.expression()
    this.#expect(']')
    return this.#suffixed({ kind: 'operator', name: '[]', args: [of, index] })
  }

  #primary(): Sql {
    if (this.#is('(')) {
      const inner = this.expression()
      this.#expect(')')
      return inner
    }
    if (this.#is('-'))
      return { kind: 'operator', name: '-', args: [{ kind: 'number', name: '0', args: [] }, this.#primary()] }
    if (this.#is('ARRAY', '[')) {
      const args = this.#list()
      this.#expect(']')
      return { kind: 'array', name: '', args }
    }
    if (this.#is('CASE')) return this.#case()
    const first = this.#next()
    if (/^\d/.test(first)) return { kind: 'number', name: first, args: [] }
    if (!/^[\w"']/.test(first)) throw new SyntaxError(`unexpected ${first}`)
    let name = first
    while (this.#is('.')) name += `.${this.#next()}`
    if (!this.#is('(')) return { kind: 'name', name, args: [] }
    if (name === 'extract') while (!this.#is('FROM')) this.#next()
    const args = this.#is(')') ? [] : this.#list()
    if (this.#tokens[this.#at - 1] === ')' && args.length === 0) return { kind: 'call', name, args }
    this.#expect(')')
    return { kind: 'call', name, args }
  }

  /** Conditions and values by turns, and the value if no condition holds. */
  #case(): Sql {
    const args: Sql[] = []
    while (this.#is('WHEN')) {
      args.push(this.expression())
      this.#expect('THEN')
      args.push(this.expression())
    }
    args.push(this.#is('ELSE') ? this.expression() : { kind: 'name', name: 'NULL', args: [] })
    this.#expect('END')
    return { kind: 'case', name: '', args }
  }
}

/** The statements between the last `BEGIN` and `END` of the text of a function. */
export function parsedSql(source: string): readonly Statement[] {
  const [, body] = /\nBEGIN\n(.*)\nEND\n/s.exec(source) ?? []
  if (body === undefined) throw new SyntaxError('no body of a function')
  return new Parser(body).statements()
}

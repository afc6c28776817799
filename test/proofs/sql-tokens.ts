const TOKEN = /\s*('[^']*'|::|:=|\.\.|<=|>=|<>|\|\||[-+*/%()<>=,;:.[\]]|"?\w+"?)/y

/** Says of which schema an operator or a function is: that of PostgreSQL itself, whose are all that are read here. */
const SCHEMA = /OPERATOR\(pg_catalog\.([^)]+)\)|pg_catalog\./g

/** The tokens of a text of SQL, one after the other. Quotes of names, and schemas, are left out. */
export class Tokens {
  readonly #tokens: string[] = []
  #at = 0

  constructor(written: string) {
    const text = written.replace(SCHEMA, '$1')
    TOKEN.lastIndex = 0
    for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
      this.#tokens.push((found[1] as string).replace(/"/g, ''))
    }
  }

  /** The token that is next, which is left there; empty at the end. */
  get first(): string {
    return this.#tokens[this.#at] ?? ''
  }

  next(): string {
    return this.#tokens[this.#at++] ?? ''
  }

  /** Whether these tokens are next; they are then read. */
  is(...tokens: readonly string[]): boolean {
    if (!tokens.every((each, i) => this.#tokens[this.#at + i] === each)) return false
    this.#at += tokens.length
    return true
  }

  expect(...tokens: readonly string[]): void {
    if (!this.is(...tokens)) throw new SyntaxError(`expected ${tokens.join(' ')}, got ${this.first}`)
  }

  /** Reads what is in between commas. */
  list<T>(read: () => T): readonly T[] {
    const found = [read()]
    while (this.is(',')) found.push(read())
    return found
  }
}

// Where the pages about errors are. A test compares it with the `homepage` of the repository's package.json.
const HOME = 'https://github.com/spillwayjs/spillway'
const PAGES = `${HOME}/blob/main/docs/errors`

/** The stable codes of all errors. Each has a page in `docs/errors`. */
export type ErrorCode =
  | 'ERR_SPILLWAY_QUOTA'
  | 'ERR_SPILLWAY_DURATION'
  | 'ERR_SPILLWAY_COST'
  | 'ERR_SPILLWAY_KEY'
  | 'ERR_SPILLWAY_OPTION'
  | 'ERR_SPILLWAY_STORE'
  | 'ERR_SPILLWAY_RATE_LIMITED'
  | 'ERR_SPILLWAY_OVERLOAD'
  | 'ERR_SPILLWAY_SERVICE_DOWN'

/** The stable codes of all warnings. Each is a section of `docs/errors/warnings.md`. */
export type WarningCode =
  | 'WARN_SPILLWAY_ALWAYS_DENIED'
  | 'WARN_SPILLWAY_CALLED_TWICE'
  | 'WARN_SPILLWAY_EVICTION'
  | 'WARN_SPILLWAY_IPV6_KEY'
  | 'WARN_SPILLWAY_LISTENER'
  | 'WARN_SPILLWAY_LONE_COUNTER'
  | 'WARN_SPILLWAY_LOOKUP'
  | 'WARN_SPILLWAY_MANY_LIMITERS'
  | 'WARN_SPILLWAY_MOUNTED_PATH'
  | 'WARN_SPILLWAY_NEXT'
  | 'WARN_SPILLWAY_NO_ADDRESS'
  | 'WARN_SPILLWAY_PARTITION'
  | 'WARN_SPILLWAY_PORT_KEY'
  | 'WARN_SPILLWAY_RESPONSE_HOOK'
  | 'WARN_SPILLWAY_ROUTE_CONFIG'
  | 'WARN_SPILLWAY_SAME_NAME'
  | 'WARN_SPILLWAY_SAME_SOURCE'
  | 'WARN_SPILLWAY_UNNAMED'
  | 'WARN_SPILLWAY_SETTLE'
  | 'WARN_SPILLWAY_SLOTS_LOST'
  | 'WARN_SPILLWAY_SHADOW'
  | 'WARN_SPILLWAY_STORE'
  | 'WARN_SPILLWAY_TRUSTS_EVERY_PROXY'
  | 'WARN_SPILLWAY_UNTRUSTED_PROXY'

/** The address of the page about an error or a warning. */
const pageOf = (code: ErrorCode | WarningCode): string =>
  code.startsWith('WARN_')
    ? `${PAGES}/warnings.md#${code.toLowerCase()}`
    : `${PAGES}/${code.toLowerCase().replaceAll('_', '-')}.md`

/** A message and the link to its page. */
export const withLink = (message: string, code: ErrorCode | WarningCode): string => `${message} [${pageOf(code)}]`

/** The message without that link, to be used in another one. */
export const withoutLink = (message: string): string => message.replace(/ \[https:[^ \]]*\]$/, '')

/**
 * How `instanceof` recognises the errors of a class: by their name, so that it recognises those of every copy of this
 * module. An app may import one copy and require another, or have two versions installed. Subclasses are recognised as usual.
 */
// So that bundlers leave out the classes that an app does not use.
/* @__NO_SIDE_EFFECTS__ */
export const instancesNamed = (name: string) =>
  function (this: object, value: unknown): boolean {
    if (!Object.hasOwn(this, Symbol.hasInstance)) return Function.prototype[Symbol.hasInstance].call(this, value)
    return (
      value instanceof Error && value.name === name && 'code' in value && String(value.code).startsWith('ERR_SPILL')
    )
  }

/** Thrown for an invalid limiter, quota or call: a mistake in the program, never a property of a request. */
export class QuotaError extends RangeError {
  /** Recognises the errors of all copies of this module in the process. */
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = instancesNamed('QuotaError')

  /** The name of the class. */
  override readonly name = 'QuotaError'
  /** The kind of mistake. */
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string) {
    super(withLink(message, code))
    this.code = code
  }
}

/** The error for a value: the rule that it breaks, the value, and what to write instead. */
export const invalid = (code: ErrorCode, rule: string, value: unknown, instead?: string): QuotaError =>
  new QuotaError(code, `${rule}; got ${formatValue(value)}.${instead ? ` ${instead}` : ''}`)

/** The same for an option. */
export const invalidOption = (rule: string, value: unknown, instead?: string): QuotaError =>
  invalid('ERR_SPILLWAY_OPTION', rule, value, instead)

/**
 * Why there was no answer: the store failed; it took too long; the client had no free connection for the call; or the
 * circuit was open, so that the store was not asked.
 */
export type StoreFailure = 'error' | 'timeout' | 'pool' | 'open'

/** The store failed: unreachable, too slow, out of memory. `cause` is the store's own error. */
export class StoreError extends Error {
  /** Recognises the errors of all copies of this module in the process. */
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = instancesNamed('StoreError')

  /** The name of the class. */
  override readonly name = 'StoreError'
  /** Always `ERR_SPILLWAY_STORE`. */
  readonly code: ErrorCode = 'ERR_SPILLWAY_STORE'
  /** Why there was no answer. */
  readonly reason: StoreFailure
  /**
   * After a timeout: the store's late answer, undefined if it fails. It never rejects. If `late` is undefined after a timeout,
   * nothing was sent, as may turn out later.
   */
  readonly late: Promise<unknown> | undefined
  /** Whether the store works and has rejected this call only, so that the failure does not open its circuit. */
  readonly healthy: boolean

  /** `late` is the call that has timed out: it may reject, also with a `StoreError` that has a `late` of its own. */
  constructor(
    message: string,
    cause?: unknown,
    { reason = 'error', late, healthy = false }: Pick<Partial<StoreError>, 'reason' | 'late' | 'healthy'> = {},
  ) {
    // Without a link to its page: frameworks send the messages of such errors to clients.
    super(message, { cause })
    this.reason = reason
    this.late = late?.catch(async (failure?: Partial<StoreError>) => {
      const answer = await failure?.late
      if (isUnsent(failure)) (this as { late: unknown }).late = undefined
      return answer
    })
    this.healthy = healthy
  }
}

/** The error of one of several calls that were sent together, with its own part of their late answer. */
export function withLate<E>(error: E, partOf: (answer: unknown) => unknown): E | StoreError {
  if (!(error instanceof StoreError) || error.late === undefined) return error
  const late = error.late.then((answer) => {
    // Nothing was sent, as has turned out.
    if (error.late === undefined) throw error
    return answer === undefined ? undefined : partOf(answer)
  })
  return new StoreError(withoutLink(error.message), error.cause, { reason: error.reason, late })
}

/** Reports whether a call has failed before it was sent, as is certain once `late` has settled. */
export const isUnsent = (error: unknown): boolean =>
  error instanceof StoreError && error.late === undefined && (error.reason !== 'error' || unsent.has(error))

const unsent = new WeakSet<StoreError>()

/** Marks an error as one of a call that was not sent, such as for want of a connection. */
export function markUnsent(error: StoreError): StoreError {
  unsent.add(error)
  return error
}

/** Renders what was thrown, for a message. Never throws, though the message of an error may. */
export function formatThrown(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return formatValue(thrown)
    // Node's error of a host with several addresses has no message: those of its addresses have.
    const [first] = thrown.message === '' ? ((thrown as { errors?: readonly unknown[] }).errors ?? []) : []
    return first === undefined ? withoutSecrets(String(thrown.message)) : formatThrown(first)
  } catch {
    return 'an error that cannot be read'
  }
}

const WORD = /[^\s'"]+/g
const PASSWORD = /(passw(?:or)?d\s*=\s*)(?:'[^']*'|[^\s&]+)/gi

/** Text of others without the secrets of the URLs in it, and without passwords as parameters. */
const withoutSecrets = (text: string): string => text.replace(WORD, withoutUserinfo).replace(PASSWORD, '$1…')

/** Up to the last `@`, as a password may have one. */
function withoutUserinfo(word: string): string {
  const start = word.indexOf('//')
  const end = word.lastIndexOf('@')
  return start < 0 || end < start ? word : `${word.slice(0, start)}//…${word.slice(end)}`
}

/** Renders any value for an error message: short, on one line, without passwords, and never throwing. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') {
    // Before it is cut: an `@` that is cut off would not be found. Of a text of megabytes, only a start is read.
    const text = withoutSecrets(value.slice(0, 4_000))
    return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
  }
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (value === null || typeof value !== 'object') return String(value)
  if (value instanceof Promise) return 'a promise'
  return Array.isArray(value) ? 'an array' : 'an object'
}

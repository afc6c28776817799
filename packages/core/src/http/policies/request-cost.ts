import { formatValue, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { type Awaitable, checked } from '../../common/maybe-promise.ts'
import type { Read } from '../keys/request-sources.ts'
import { splitSelector } from '../keys/selector-syntax.ts'
import type { QueryValues, RequestReader } from '../requests/reader.ts'
import { checkReturnedCost } from '../requests/returned.ts'

/** The units that a request consumes: a number, a header or query parameter that holds it, or a function. */
export type CostOption<R> = number | `header:${string}` | `query:${string}` | ((request: R) => Awaitable<number>)

/** The cost of a request, and its bounds. */
export interface CostOptions<R> {
  /**
   * The units that a request consumes: a number, a selector such as `'header:x-cost'`, or a function.
   * @default `1`
   */
  readonly cost?: CostOption<R>
  /**
   * The cost when the selected header or parameter is missing or is not a whole number.
   * @default `1`
   */
  readonly defaultCost?: number
  /**
   * The most units one request can cost. Required with `cost: 'header:content-length'`: a body of unknown length costs
   * this.
   * @default `Number.MAX_SAFE_INTEGER`
   */
  readonly maxCost?: number
}

/** Compiles a cost option into the function that reads a request's cost: always a whole number, 1 to `maxCost`. */
export function costReader<R>(options: CostOptions<R>, reader: RequestReader<R>): Read<R, number> {
  const { cost = 1, maxCost = Number.MAX_SAFE_INTEGER } = options
  const fallback = wholeCost('defaultCost', options.defaultCost ?? 1)
  wholeCost('maxCost', maxCost)
  // A number that is too large to count costs `maxCost`, not the lower default.
  const bounded = (value: number): number =>
    value > Number.MAX_SAFE_INTEGER ? maxCost : Math.min(isCost(value) ? value : fallback, maxCost)
  // A function is the app's code: an invalid value is a mistake and throws, while one from a client falls back to the
  // default.
  if (typeof cost === 'function') {
    return checked(cost, (returned) => Math.min(checkReturnedCost(returned), maxCost), inTime('cost'))
  }
  if (typeof cost === 'number') return fixedReader(cost, options)
  const [kind, name] = splitSelector(cost)
  if (kind === 'header' && name === 'content-length') return lengthReader(options.maxCost, bounded, reader)
  if (kind === 'header') return (request) => bounded(parseCost(reader.header(request, name)))
  if (kind === 'query') return (request) => mostOf(reader.query(request, name), (value) => bounded(parseCost(value)))
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `cost must be a whole number, 'header:NAME', 'query:NAME' or a function; got ${formatValue(cost)}.`,
  )
}

/** Reads a fixed cost. Throws a QuotaError if `defaultCost` is another one, or `maxCost` is less. */
function fixedReader<R>(fixed: number, { cost, defaultCost = 1, maxCost = fixed }: CostOptions<R>): Read<R, number> {
  wholeCost('cost', fixed)
  const [option, units] = cost === undefined ? ['defaultCost', defaultCost] : ['maxCost', Math.min(maxCost, fixed)]
  if (units === fixed) return () => fixed
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${option} is ${units}, but every request costs ${fixed}. Write cost: ${units}, or leave out ${option}.`,
  )
}

/**
 * Reads a body's length. A body without an announced length costs `maxCost`: otherwise clients would omit the length.
 */
function lengthReader<R>(
  maxCost: number | undefined,
  bounded: (value: number) => number,
  reader: RequestReader<R>,
): Read<R, number> {
  if (maxCost === undefined) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      "cost: 'header:content-length' needs maxCost: the cost of a body of unknown length, such as a chunked one. Write the limit of your body parser.",
    )
  }
  const hidesBody = reader.hidesBody ?? ((request) => !WITHOUT_BODY.includes(reader.method(request)))
  return (request) => {
    const length = reader.header(request, 'content-length')
    const chunked = reader.header(request, 'transfer-encoding') !== undefined
    return chunked || (length === undefined && hidesBody(request)) ? maxCost : bounded(parseCost(length))
  }
}

/** The cost of a query parameter: if it is repeated, the most of its values, whichever of them the handler reads. */
function mostOf(values: QueryValues, costOf: (value: string | undefined) => number): number {
  const [first, ...others] = typeof values === 'object' ? values : [values]
  return others.reduce((most, value) => Math.max(most, costOf(value)), costOf(first))
}

const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE', 'CONNECT']

const isCost = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1

/** Digits only: '1e9', '0x10', ' 5' and '5, 5' are not costs. */
const parseCost = (text: string | undefined): number => (text !== undefined && /^\d+$/.test(text) ? Number(text) : 0)

function wholeCost(what: string, value: number): number {
  if (isCost(value)) return value
  throw new QuotaError(
    'ERR_SPILLWAY_COST',
    `${what} must be a whole number of units, 1 or more; got ${formatValue(value)}.`,
  )
}

import { checkUnits } from '../../algorithms/verbs.ts'
import { invalidOption, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { type Awaitable, checked } from '../../common/maybe-promise.ts'
import type { Read, RequestSources } from '../../http/pipeline/request-sources.ts'
import type { RequestReader } from '../../http/requests/reader.ts'
import { checkReturnedCost } from '../../http/requests/returned.ts'
import { splitSelector } from '../selectors/selector-syntax.ts'
import { parameterReader } from '../selectors/selectors.ts'

/** The units that a request consumes: a number, a header or query parameter that holds it, or a function. */
export type CostOption<R> = number | `header:${string}` | `query:${string}` | ((request: R) => Awaitable<number>)

/** The cost of a request, and its bounds. */
export interface CostOptions<R> {
  /**
   * The units that a request consumes: a number, a selector such as `'header:x-cost'`, or a function. A selector reads the
   * largest number that any handler can read, rounded up: of `5e1`, `0x32`, `50.0` and `n[0]=50` it is 50.
   * @default `1`
   */
  readonly cost?: CostOption<R>
  /**
   * The cost when the selected header or parameter is missing, or is not a number above 0.
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
export function costReader<R>(
  options: CostOptions<R>,
  requestSources: Pick<RequestSources<R>, 'reader' | 'parameters'>,
): Read<R, number> {
  const { reader } = requestSources
  const { cost = 1, maxCost = Number.MAX_SAFE_INTEGER } = options
  const fallback = checkUnits(options.defaultCost ?? 1, 'defaultCost')
  checkUnits(maxCost, 'maxCost')
  // A handler may read any of the values, and the default for one that is no number. A number that is too large to count costs
  // `maxCost`.
  const bounded = ({ most, isPartial }: Numbers): number =>
    Math.min(Math.max(Math.ceil(most), isPartial ? fallback : 1), maxCost)
  // A function is the app's code: an invalid value is a mistake and throws, while one from a client falls back to the
  // default.
  if (typeof cost === 'function') {
    const costOf = checked(cost, (returned) => Math.min(checkReturnedCost(returned), maxCost), inTime('cost'))
    return ({ request }) => costOf(request)
  }
  if (typeof cost === 'number') return fixedReader(cost, options)
  const [kind, name] = splitSelector(cost)
  if (kind === 'header' && name === 'content-length') return lengthReader(options.maxCost, bounded, reader)
  if (kind === 'header') {
    // A header that is repeated is a list.
    const read = (request: R): Numbers => numbersIn(reader.header(request, name)?.split(',') ?? [''])
    return (parts) => bounded(parts.once(`cost ${cost}`, read))
  }
  if (kind === 'query') {
    const parameterOf = parameterReader(name, requestSources)
    return (parts) =>
      bounded(
        parts.once(`cost ${cost}`, () => {
          const { values, nested } = parameterOf(parts)
          return numbersIn([...values, ...nested])
        }),
      )
  }
  throw invalidOption("cost must be a whole number, 'header:NAME', 'query:NAME' or a function", cost)
}

/** Reads a fixed cost. Throws a QuotaError if `defaultCost` is another one, or `maxCost` is less. */
function fixedReader<R>(fixed: number, { cost, defaultCost = 1, maxCost = fixed }: CostOptions<R>): Read<R, number> {
  checkUnits(fixed)
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
  bounded: (numbers: Numbers) => number,
  reader: RequestReader<R>,
): Read<R, number> {
  if (maxCost === undefined) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      "cost: 'header:content-length' needs maxCost: the cost of a body of unknown length, such as a chunked one. Write the limit of your body parser.",
    )
  }
  const hidesBody = reader.hidesBody ?? ((request) => !WITHOUT_BODY.includes(reader.method(request)))
  return ({ request }) => {
    const length = reader.header(request, 'content-length')
    const chunked = reader.header(request, 'transfer-encoding') !== undefined
    return chunked || (length === undefined && hidesBody(request)) ? maxCost : bounded(numbersIn([length ?? '']))
  }
}

/** The numbers in the values of a header or parameter. */
interface Numbers {
  /** The largest; 0 if none is above 0. */
  readonly most: number
  /** Whether a value has no number above 0. */
  readonly isPartial: boolean
}

function numbersIn(values: readonly string[]): Numbers {
  let most = 0
  let isPartial = false
  for (const value of new Set(values)) {
    const number = numberIn(value)
    isPartial ||= !(number > 0)
    if (number > most) most = number
  }
  return { most, isPartial }
}

/** How many characters of a number are read: more are zeros, or more than any number is. */
const LONGEST = 400

/**
 * The largest number that `Number`, `parseFloat` and `parseInt` read: they differ about `50 pages`, `0x32` and `50e-1`. Of a longer
 * text that begins as a number, none is read to its end: it costs the most.
 */
function numberIn(value: string): number {
  const text = value.slice(0, LONGEST).trim()
  if (value.length > LONGEST) return Number.parseFloat(text || '0') >= 0 ? Number.POSITIVE_INFINITY : 0
  // Only `Number` reads these, and nothing that the others do not.
  return text.startsWith('0') && /[bo]/i.test(text.charAt(1))
    ? Number(text)
    : Math.max(Number.parseFloat(text) || 0, Number.parseInt(text) || 0)
}

const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE', 'CONNECT']

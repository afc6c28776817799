import { checkFunctions } from '../../common/options.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import type { Claims } from '../../http/requests/reader.ts'
import { type KeyOption, keyReader } from './selectors.ts'

/** The option for verified claims. */
export interface ClaimsOptions<R> {
  /**
   * Returns the verified claims about the user, for `claim:` selectors and matches. Called at most once per request.
   * @default none
   */
  readonly claims?: Claims<R>
}

/** The option for keys by parts of the request. */
export interface SelectorOptions<R> {
  /**
   * The client that a request counts for: a selector such as `'ip'` or `'header:x-api-key'`, a list of selectors, or a
   * function.
   * @default `'ip'`
   */
  readonly key?: KeyOption<R>
}

/** The types of its options. */
export interface SelectorTypes extends OptionTypes {
  readonly limiter: ClaimsOptions<this['request']>
  readonly policy: SelectorOptions<this['request']>
}

/** Keys by parts of the request, such as `'header:x-api-key'`, and `claims` for `'claim:sub'`. */
export const selectors: Feature<SelectorTypes> = { name: 'selectors', options: ['claims'], layers: { sources, key } }

function sources<R, S>(next: Seams<R, S>['sources']): Seams<R, S>['sources'] {
  return (options, reader, logger) => {
    const { claims } = options as ClaimsOptions<R>
    checkFunctions(options as ClaimsOptions<R>, ['claims'])
    return { ...next(options, reader, logger), claims }
  }
}

function key<R, S>(): Seams<R, S>['key'] {
  return (option, requestSources) => keyReader(option as KeyOption<R>, requestSources)
}

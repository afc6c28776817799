import { NONE } from '../../algorithms/decision-of.ts'
import { checkNames, givenOptions } from '../../common/options.ts'
import type { Logger } from '../../common/warn.ts'
import { checkPrefix } from '../addresses/address.ts'
import { frameworkAddress } from '../addresses/framework-address.ts'
import { denialBuilder } from '../headers/problem.ts'
import type { RequestReader } from '../requests/reader.ts'
import { checkNamed, readingOne } from './check.ts'
import type { CompiledPolicy } from './compiled.ts'
import { plainHeaders } from './headers.ts'
import { plainPolicy, plainQuota } from './policy.ts'
import type { RequestSources } from './request-sources.ts'
import type { ChecksBuilder, Hint, OptionNames, Seams, Setup, VerdictBuilder } from './seams.ts'
import { CLIENT_CLOSED, CLOSED, type Draft, PASS } from './verdict.ts'

// The plain way: the address of the client, its key, one quota, and the newest headers. What each seam does without features.

/** The options that every limiter has. */
export const PLAIN_OPTIONS: OptionNames = { limiter: ['logger', 'ipv6Prefix'], policy: ['name', 'quota', 'key'] }

/** The names of the options that only policies have. */
const ownNames = ({ limiter, policy }: OptionNames): readonly string[] =>
  policy.filter((name) => !limiter.includes(name))

function options(given: unknown, names: OptionNames, hint: Hint): object {
  const known = [...ownNames(names), ...names.limiter]
  checkNames('rateLimit', given, known, (name, all) => hint(name, known, all))
  return givenOptions(given as object, known)
}

function sources<R>(options: object, reader: RequestReader<R>, logger: Logger): RequestSources<R> {
  const { ipv6Prefix = 56 } = options as { readonly ipv6Prefix?: number }
  checkPrefix(ipv6Prefix, 32)
  const address = frameworkAddress(reader, logger)
  return { reader, address, claims: undefined, parameters: new Set(), cookies: new Set(), ipv6Prefix, logger }
}

function checks<R, S>([compiled]: readonly CompiledPolicy<R, S>[]): ChecksBuilder<R, S> {
  return compiled === undefined ? () => NONE : readingOne(compiled)
}

function verdict<R, S>(
  policies: readonly CompiledPolicy<R, S>[],
  { options, seams }: Setup<R, S>,
): VerdictBuilder<R, S> {
  const headersOf = seams.headers(policies, options)
  return ({ shownNames }, acquisition) => {
    if (acquisition === undefined) return PASS as Draft<S>
    if (acquisition === CLOSED) return CLIENT_CLOSED as Draft<S>
    const { decision } = acquisition
    const { allowed, policy } = decision
    return {
      decision: decision as NonNullable<Draft<S>['decision']>,
      headers: headersOf(acquisition, shownNames),
      denial: allowed ? undefined : checkNamed(acquisition, policy).policy.denialFor(decision, shownNames),
      answer: undefined,
      after: undefined,
      discard: PASS.discard,
    }
  }
}

/** What the seams do without features. The others are filled by `plain` of the lean entries, or by features of their own. */
export const PLAIN: Omit<Seams<never, never>, 'store' | 'several' | 'key' | 'enforce'> = {
  hint: () => undefined,
  options,
  sources,
  skips: () => undefined,
  policies: (options, names) => [givenOptions(options, ownNames(names))],
  policy: plainPolicy,
  quota: plainQuota,
  denial: (named) => denialBuilder(named),
  register: () => {},
  checks,
  headers: () => plainHeaders,
  verdict,
  calls: () => ({}),
}

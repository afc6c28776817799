import { checkBoolean } from '../../common/options.ts'
import type { Decision } from '../../decisions/decision.ts'
import { isCounted } from '../../decisions/merge.ts'
import type { ShownNames } from '../../http/headers/display-names.ts'
import { EXPOSE, type Header, seconds } from '../../http/headers/headers.ts'
import type { PolicyResult } from '../../http/headers/limit-item.ts'
import { checkNamed, checksOf } from '../../http/pipeline/check.ts'
import type { HttpCheck } from '../../http/pipeline/compiled.ts'
import { itemOf } from '../../http/pipeline/headers.ts'
import type { HeaderBuilder } from '../../http/pipeline/seams.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { formsOf, type HeaderForm, headerWriter } from './forms.ts'
import { checkJitter, jitteredMs } from './jitter.ts'

/** Options of the headers that report limits to clients. */
export interface HeaderOptions {
  /**
   * Which rate limit header fields to send: one form, several, or `false` for none.
   * @default `'draft-11'`
   */
  readonly headers?: HeaderForm | readonly HeaderForm[] | false
  /**
   * Appends the names of these headers to `Access-Control-Expose-Headers`, so that scripts of other origins can read
   * them.
   * @default `false`
   */
  readonly exposeHeaders?: boolean
  /**
   * The fraction of the wait, 0 to 0.5, that `Retry-After` may add to spread retries. It is the same for the same
   * client.
   * @default `0`
   */
  readonly jitter?: number
}

export function headerBuilder({ headers, jitter: given, exposeHeaders }: HeaderOptions): HeaderBuilder {
  const write = headerWriter(formsOf(headers))
  const jitter = checkJitter(given)
  const exposes = checkBoolean('exposeHeaders', exposeHeaders)
  const finish = (headers: readonly Header[]): readonly Header[] => (exposes ? exposed(headers) : headers)
  return (acquisition, names) => {
    const { decision } = acquisition
    const { policies } = decision
    const results = checksOf(acquisition).map((check, i) =>
      resultOf(check, policies === undefined ? decision : (policies[i] as Decision), names),
    )
    // While the store does not answer, only policies with a local fallback have numbers.
    const known = decision.degraded ? results.filter((each) => isCounted(each.decision)) : results
    if (decision.allowed) return finish(write(known, Date.now))
    const waitMs = retryAfterMsOf(acquisition, jitter)
    const headers = write(known, Date.now, { policy: decision.policy, waitMs })
    if (waitMs !== undefined) headers.push(['Retry-After', String(seconds(waitMs))])
    return finish(headers)
  }
}

const resultOf = ({ policy, pk }: HttpCheck, decision: Decision, names?: ShownNames): PolicyResult => ({
  decision,
  item: itemOf(policy, names),
  pk,
})

/** The headers, preceded by the one that exposes them. */
const exposed = (headers: readonly Header[]): readonly Header[] =>
  headers.length === 0 ? headers : [[EXPOSE, headers.map(([name]) => name).join(', ')], ...headers]

// It is unknown when the store answers again: clients may retry after one second.
const UNKNOWN_WAIT_MS = 1000

/** The milliseconds of `Retry-After` (RFC 9110, section 10.2.3) of a denial; undefined if no wait helps. */
function retryAfterMsOf(acquisition: Acquisition, jitter: number): number | undefined {
  const { decision } = acquisition
  const { retryAfterMs, degraded } = decision
  if (degraded?.action === 'deny' && retryAfterMs === 0) return UNKNOWN_WAIT_MS
  if (retryAfterMs === 0 || retryAfterMs === Infinity) return undefined
  const key = jitter === 0 ? '' : checkNamed(acquisition, decision.policy).key
  return jitteredMs(decision, key, jitter)
}

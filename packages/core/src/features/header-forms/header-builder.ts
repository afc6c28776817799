import { checkBoolean } from '../../common/options.ts'
import { EXPOSE, type Header } from '../../http/headers/headers.ts'
import { checkNamed } from '../../http/pipeline/check.ts'
import { withRetryAfter } from '../../http/pipeline/headers.ts'
import { resultsOf, waitMsOf } from '../../http/pipeline/listed-headers.ts'
import type { HeaderBuilder } from '../../http/pipeline/seams.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { formsOf, type HeaderForm, headerWriter, isNewest } from './forms.ts'
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

/** Builds what writes other headers than those of the pipeline; undefined if the options ask for no others. */
export function headerBuilder({ headers, jitter: given, exposeHeaders }: HeaderOptions): HeaderBuilder | undefined {
  const forms = formsOf(headers)
  const jitter = checkJitter(given)
  const exposes = checkBoolean('exposeHeaders', exposeHeaders)
  if (isNewest(forms) && jitter === 0 && !exposes) return undefined
  const write = headerWriter(forms)
  const build: HeaderBuilder = (acquisition, names) => {
    const { decision } = acquisition
    const results = resultsOf(acquisition, names)
    if (decision.allowed) return write(results, Date.now)
    const waitMs = retryAfterMsOf(acquisition, jitter)
    return withRetryAfter(write(results, Date.now, { policy: decision.policy, waitMs }), waitMs ?? 0)
  }
  return exposes ? (acquisition, names) => exposed(build(acquisition, names)) : build
}

/** The headers, preceded by the one that exposes them. */
const exposed = (headers: readonly Header[]): readonly Header[] =>
  headers.length === 0 ? headers : [[EXPOSE, headers.map(([name]) => name).join(', ')], ...headers]

/** The milliseconds of `Retry-After` (RFC 9110, section 10.2.3) of a denial; undefined if no wait helps. */
function retryAfterMsOf(acquisition: Acquisition, jitter: number): number | undefined {
  const { decision } = acquisition
  const waitMs = waitMsOf(decision)
  if (waitMs === 0 || waitMs === Infinity) return undefined
  if (jitter === 0 || decision.retryAfterMs === 0) return waitMs
  return jitteredMs(decision, checkNamed(acquisition, decision.policy).key, jitter)
}

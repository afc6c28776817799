import { formatValue, QuotaError } from '../../common/errors.ts'
import type { PolicyResult } from '../../http/headers/header-item.ts'
import type { Header } from '../../http/headers/headers.ts'
import { fitting } from '../../http/pipeline/listed-headers.ts'
import { FIELDS, type Field, type Wire } from './fields.ts'

/**
 * A format of the rate limit headers: a revision of draft-ietf-httpapi-ratelimit-headers, or the older `X-RateLimit-*`
 * with its reset in seconds from now (`legacy-delta`) or since 1970 (`legacy-epoch`). Drafts 8 to 11 send the same
 * headers.
 */
export type HeaderForm = Wire | 'draft-8' | 'draft-9' | 'draft-10'

/** A denial: the policy that governs it, and the milliseconds of `Retry-After`, if it is sent. */
export interface ReportedDenial {
  readonly policy: string
  readonly waitMs: number | undefined
}

/**
 * Formats the header fields of the policies that counted a request; none if no policy did. Fields with room for one policy
 * report that with the fewest units remaining, or the one that governs the `denial`. `nowMs` is called only if a field needs
 * it.
 */
export type HeaderWriter = (
  results: readonly PolicyResult[],
  nowMs: () => number,
  denial?: ReportedDenial,
) => readonly Header[]

const WIRES: ReadonlyMap<unknown, Wire> = new Map<unknown, Wire>([
  ['draft-6', 'draft-6'],
  ['draft-7', 'draft-7'],
  ['draft-8', 'draft-11'],
  ['draft-9', 'draft-11'],
  ['draft-10', 'draft-11'],
  ['draft-11', 'draft-11'],
  ['legacy-delta', 'legacy-delta'],
  ['legacy-epoch', 'legacy-epoch'],
])

/** Pairs of formats that write one field differently. */
const CONFLICTING: readonly (readonly [Wire, Wire, field: string])[] = [
  ['draft-7', 'draft-11', 'RateLimit'],
  ['legacy-delta', 'legacy-epoch', 'X-RateLimit-Reset'],
]

/**
 * Checks the `headers` option: one format, several, or false for none. Default: `['draft-11']`. Of formats that send
 * the same headers, the first is returned. Throws a QuotaError for an unknown format, and for two that write one field
 * differently.
 */
export function formsOf(option: HeaderForm | readonly HeaderForm[] | false | undefined): readonly HeaderForm[] {
  if (option === false) return []
  const forms = (Array.isArray(option) ? option : [option === undefined ? 'draft-11' : option]) as readonly HeaderForm[]
  const wires = forms.map(wireOf)
  for (const [one, other, field] of CONFLICTING) {
    const [a, b] = [forms[wires.indexOf(one)], forms[wires.indexOf(other)]]
    if (a && b) throw unknownForm(`cannot be both '${a}' and '${b}', which write ${field} differently: choose one.`)
  }
  return forms.filter((_, i) => wires.indexOf(wires[i] as Wire) === i)
}

/** Whether these are the headers of the newest draft alone. */
export const isNewest = (forms: readonly HeaderForm[]): boolean => forms.map(wireOf).join() === 'draft-11'

function wireOf(form: unknown): Wire {
  const wire = WIRES.get(form)
  if (wire !== undefined) return wire
  if (form === 'legacy') {
    throw unknownForm(
      "'legacy' is ambiguous: write 'legacy-delta' (seconds until the reset) or 'legacy-epoch' (its date).",
    )
  }
  const known = [...WIRES.keys()].map((each) => `'${each}'`).join(', ')
  throw unknownForm(`must be one or a list of ${known}, or false for none; got ${formatValue(form)}.`)
}

const unknownForm = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', `headers ${problem}`)

/** Builds the writer of these formats. A field that several of them define is written once, in the newest format. */
export function headerWriter(forms: readonly HeaderForm[]): HeaderWriter {
  const wires = forms.map(wireOf)
  const named = new Map<string, Field>()
  for (const [wire, fields] of Object.entries(FIELDS)) {
    if (!wires.includes(wire as Wire)) continue
    for (const [name, field] of Object.entries(fields)) if (!named.has(name)) named.set(name, field)
  }
  const fields = [...named]
  return (results, nowMs, denial) => {
    const [first] = results
    if (first === undefined) return []
    const shown = results.length === 1 ? first : (governing(results, denial) ?? results.reduce(hasFewerLeft))
    // Drafts 6 and 7: if a response has both, Retry-After and the reset name the same moment.
    const resetMs = denial?.waitMs ?? shown.decision.resetAfterMs
    if (results.length === 1) return fields.map(([name, { one }]) => [name, one(first, resetMs, nowMs)])
    return fitting(results, (listed) =>
      fields.map(([name, { one, all }]) => [name, all ? all(listed) : one(shown, resetMs, nowMs)]),
    )
  }
}

const governing = (results: readonly PolicyResult[], denial: ReportedDenial | undefined): PolicyResult | undefined =>
  denial && results.find(({ decision: { policy } }) => policy === denial.policy)

const hasFewerLeft = (a: PolicyResult, b: PolicyResult): PolicyResult =>
  b.decision.remaining < a.decision.remaining ? b : a

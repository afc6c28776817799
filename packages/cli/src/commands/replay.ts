import { ipKey } from '@spillway/core/http'
import { areTiers } from '@spillway/core/internal'
import { EXIT } from '../exit.ts'
import { type Io, painter, UserError, widthOf } from '../io.ts'
import { doubtsIn } from '../log/doubts.ts'
import type { Entry } from '../log/entry.ts'
import type { Source } from '../log/source.ts'
import { type PolicyFile, readPolicies } from '../policies.ts'
import { type DenialEvent, type Plan, planOf } from '../replay/plan.ts'
import { iso, type Result, resultOf } from '../replay/result.ts'
import { textOf } from '../replay/text.ts'
import { reportOf } from '../report/html.ts'
import { addressOf, type LogOptions, openAll, readAll, reportDoubts } from './logs.ts'
import { shareOf } from './options.ts'
import { checkOutputs, fileOf, written } from './output.ts'

export interface ReplayOptions extends LogOptions {
  readonly policy: readonly string[]
  readonly html?: string
  readonly json?: boolean
  readonly denials?: string
  readonly denyAtMost?: string
  readonly key: readonly string[]
  readonly maxKeys: number
}

/** The share of requests that a suggested limit denies at most, unless `--deny-at-most` is set. */
const SUGGESTED_SHARE = 0.001

/** Replays logs on policies, and prints the result. Returns an exit code of `EXIT`. */
export async function replay(paths: readonly string[], options: ReplayOptions, io: Io): Promise<number> {
  const files = (await readPolicies(options.policy)).map((file) => withoutSlots(file, io))
  const most = options.denyAtMost === undefined ? undefined : shareOf('--deny-at-most', options.denyAtMost)
  const unreadable = shareOf('--unreadable-at-most', options.unreadableAtMost)
  const sources = await openAll(paths, io)
  await checkOutputs([options.denials, options.html], [...paths, ...options.policy])
  const denials = options.denials === undefined ? undefined : await fileOf(options.denials)
  const address = addressOf(options.trustProxy)
  const { ipv6Prefix, maxKeys } = options
  const plans = files.map(({ name, policies, document }) => ({
    document,
    ...planOf(name, policies, {
      maxKeys,
      ipv6Prefix,
      follow: options.key.flatMap((key) => [key, ipKey(key, { ipv6Prefix })]),
      ...(address && { address }),
      tryLimits: true,
      ...(denials && { onDenial: (event) => denials.write(lineOf(event)) }),
    }),
  }))
  const result = await resultFor(plans, sources, unreadable, most ?? SUGGESTED_SHARE, options, io)
  await denials?.end()
  if (options.html !== undefined) await written(options.html, reportOf(result))
  if (options.json) io.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else io.stdout.write(textOf(result, painter(io.stdout, io.env), widthOf(io.stdout)))
  if (options.html !== undefined) io.stderr.write(`The report is in ${options.html}\n`)
  if (reportDoubts(result.doubts, io)) return EXIT.noVerdict
  if (most === undefined) return EXIT.ok
  // A policy that counts none has no verdict.
  if (
    reportDoubts(
      plans.flatMap((plan) => idleIn(plan, result.requests)),
      io,
    )
  )
    return EXIT.noVerdict
  return verdictOn(result, most, options.denyAtMost as string, io)
}

/** A log does not say how long requests were in flight: slots would be taken, and never released. */
function withoutSlots(file: PolicyFile, io: Io): PolicyFile {
  const policies = file.policies.filter(({ quota }) => quota.kernel !== 'slots')
  const left = file.policies.filter((policy) => !policies.includes(policy))
  if (left.length === 0) return file
  const names = left.map(({ name }) => JSON.stringify(name)).join(', ')
  const why = `${names} of ${file.path} cannot be replayed: logs do not say how long requests were in flight`
  if (policies.length === 0) throw new UserError(`${why}. Name a file with other policies, too.`)
  io.stderr.write(`${why}. The other policies are replayed without.\n`)
  return { ...file, policies }
}

async function resultFor(
  plans: readonly (Plan & { readonly document: unknown })[],
  sources: readonly Source[],
  unreadable: number,
  share: number,
  options: ReplayOptions,
  io: Io,
): Promise<Result> {
  try {
    const reading = await readAll(sources, replayIn(plans), options, io)
    const doubts = [
      ...doubtsIn(reading, { most: unreadable, byAddress: plans.some(countsAddresses) }),
      ...plans.flatMap(doubtsOf),
    ]
    const ladder = options.html !== undefined
    const names = sources.map(({ name }) => name)
    return resultOf(names, reading, plans, doubts, { share, ladder })
  } finally {
    for (const { spool } of plans.flatMap(({ lanes }) => lanes)) spool?.close()
  }
}

/** Whether every plan denies at most a share of the requests that it counts. */
function verdictOn({ plans }: Result, most: number, share: string, io: Io): number {
  const over = plans.filter(({ denied, counted }) => denied > most * counted)
  for (const { name } of over) io.stderr.write(`"${name}" denies more than ${share} of the requests that it counts.\n`)
  return over.length > 0 ? EXIT.threshold : EXIT.ok
}

/**
 * The plan, or the policies of it, that count none of the requests, as if the log had no requests for them. A policy that others
 * spill to counts if they deny, and of tiers, one may have all the requests.
 */
function idleIn({ name, counts, lanes }: Plan, requests: number): readonly string[] {
  const none = (what: string): string => `${what} counts none of the ${requests} requests`
  if (counts.counted === 0) return [none(`"${name}"`)]
  return lanes
    .filter(
      ({ policy }) =>
        lanes.every(({ policy: { spill } }) => spill !== policy.name) &&
        lanes.every(
          (other) => other.counts.requests === 0 || (other.policy !== policy && !areTiers(other.policy, policy)),
        ),
    )
    .map(({ policy }) => none(`policy "${policy.name}" of "${name}"`))
}

const countsAddresses = ({ lanes }: Plan): boolean => lanes.some(({ policy: { key } }) => [key].flat().includes('ip'))

/** A plan that evicted keys has allowed requests that it would have denied. */
const doubtsOf = ({ name, store }: Plan): readonly string[] =>
  store.evictions > 0
    ? [`"${name}" evicted ${store.evictions} keys before their quotas had refilled: raise --max-keys`]
    : []

function replayIn(plans: readonly Plan[]): Plan['replay'] {
  const [only] = plans
  // One plan is the usual case, and calling it directly is faster than iterating.
  if (plans.length === 1 && only) return only.replay
  return (entry: Entry, at: number, line: number, file: string) => {
    for (const plan of plans) plan.replay(entry, at, line, file)
  }
}

function lineOf({ plan, file, line, at, policy, key, cost, retryAfterMs }: DenialEvent): string {
  const wait = Number.isFinite(retryAfterMs) ? retryAfterMs : null
  return `${JSON.stringify({ plan, file, line, at: iso(at), policy, key, cost, retryAfterMs: wait })}\n`
}

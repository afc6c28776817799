import { createInterface } from 'node:readline/promises'
import type { Inspection, Store } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { columns, count, plain, whenText } from '../format.ts'
import { type Io, painter, UserError, widthOf } from '../io.ts'
import { checkStore, connect, type LiveOptions, unreachable, urlOf } from '../live/connect.ts'
import { keyFrom } from '../live/key.ts'
import { limiterOf, stateName } from '../live/limiter.ts'
import { livePolicies } from '../live/policies.ts'
import { keyText } from '../replay/key-text.ts'
import { blockedText } from '../top/view.ts'

/** The options of `inspect` and `reset`. */
export interface KeyOptions extends LiveOptions {
  readonly policy: readonly string[]
  readonly ipv6Prefix: number
  readonly json?: boolean
  readonly yes?: boolean
}

/** A policy, and a key of it. */
interface PolicyKey {
  /** The name of the policy's states. */
  readonly name: string
  readonly policy: RulePolicy
  readonly key: string
}

/** Prints the remaining units of a live key in every policy whose key has as many parts; consumes none. */
export async function inspect(url: string, parts: readonly string[], options: KeyOptions, io: Io): Promise<number> {
  checkStore(url, options)
  const policyKeys = await policyKeysOf(parts, options)
  const report = await over(url, options, io, async (store) => {
    const answers: { readonly policyKey: PolicyKey; readonly inspection: Inspection }[] = []
    for (const each of policyKeys) {
      const [inspection] = await limiterOf(each.policy, store).inspect(each.key)
      answers.push({ policyKey: each, inspection: inspection as Inspection })
    }
    return answers
  })
  const rows = report.map(({ policyKey: { name, key, policy: policyOfKey }, inspection }) => {
    const { decision, available, blockedMs, kept } = inspection
    const { remaining, limit, retryAfterMs, resetAfterMs } = decision
    return {
      policy: name,
      key: keyText(policyOfKey.key, key),
      limit,
      remaining,
      unused: !kept,
      retryAfterMs: Number.isFinite(retryAfterMs) ? Math.max(retryAfterMs, blockedMs) : null,
      resetAfterMs: Math.max(resetAfterMs, blockedMs),
      blockedMs,
      available: available.map(({ units, afterMs }) => ({ units, afterMs: Number.isFinite(afterMs) ? afterMs : null })),
    }
  })
  io.stdout.write(options.json ? `${JSON.stringify(rows, null, 2)}\n` : tableOf(rows, io))
  return 0
}

/**
 * Resets a live key after confirmation, and prints which policies had a state of it. Returns 1 without confirmation.
 */
export async function reset(url: string, parts: readonly string[], options: KeyOptions, io: Io): Promise<number> {
  checkStore(url, options)
  const policyKeys = await policyKeysOf(parts, options)
  const names = policyKeys.map(({ name }) => JSON.stringify(name)).join(', ')
  const agreed = options.yes === true || (await agrees(`Reset ${plain(parts.join(' '))} in ${names}? [y/N] `, io))
  const found: string[] = []
  if (agreed) {
    await over(url, options, io, async (store) => {
      for (const each of policyKeys) if (await limiterOf(each.policy, store).reset(each.key)) found.push(each.name)
    })
  }
  const report = { reset: agreed, policies: policyKeys.map(({ name }) => name), found }
  io.stdout.write(`${options.json ? JSON.stringify(report) : resultOf(agreed, found)}\n`)
  return agreed ? 0 : 1
}

function resultOf(agreed: boolean, found: readonly string[]): string {
  if (!agreed) return 'Nothing has been changed.'
  if (found.length === 0) return 'Nothing to reset: no policy had a state of this key.'
  return `Reset in ${found.map((name) => JSON.stringify(name)).join(', ')}: the next request finds a full quota.`
}

async function policyKeysOf(
  parts: readonly string[],
  { policy, ipv6Prefix }: KeyOptions,
): Promise<readonly PolicyKey[]> {
  const policies = await livePolicies(policy)
  const candidates = policies.filter(({ key }) => [key].flat().length === parts.length)
  const policyKeys = candidates.flatMap((each) => {
    const key = keyFrom(each.key, parts, ipv6Prefix)
    return key === undefined ? [] : [{ name: stateName(each), policy: each, key }]
  })
  if (policyKeys.length > 0) return policyKeys
  if (candidates.length > 0) {
    const names = candidates.map(({ name }) => JSON.stringify(name)).join(', ')
    throw new UserError(`${names} counts by IP address, and ${JSON.stringify(parts.join(' '))} has none: 203.0.113.66.`)
  }
  const wanted = policies.map(({ name, key }) => `"${name}" has ${[key].flat().join(' and ')}`).join(', ')
  throw new UserError(`no policy has a key of ${parts.length} parts: ${wanted}.`)
}

async function over<T>(url: string, options: LiveOptions, { env }: Io, work: (store: Store) => Promise<T>): Promise<T> {
  const { store, close } = await connect(url, options, env)
  try {
    return await work(store)
  } catch (error) {
    // The client's error is the useful one; the limiter's error has it as its cause.
    throw unreachable(urlOf(url), (error as Error).cause ?? error)
  } finally {
    await close()
  }
}

async function agrees(question: string, io: Io): Promise<boolean> {
  if (io.stdin.isTTY !== true)
    throw new UserError('reset needs confirmation, but standard input is not a terminal: add --yes.')
  const lines = createInterface({ input: io.stdin, terminal: false })
  io.stderr.write(question)
  const answer = await new Promise<string>((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => resolve(''))
  })
  lines.close()
  return /^y(es)?$/i.test(answer.trim())
}

/** What `inspect` prints about a key in a policy. */
interface InspectedKey {
  readonly policy: string
  readonly key: string
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number | null
  readonly resetAfterMs: number
  readonly blockedMs: number
  readonly unused: boolean
  readonly available: readonly { readonly units: number; readonly afterMs: number | null }[]
}

function tableOf(rows: readonly InspectedKey[], io: Io): string {
  const paint = painter(io.stdout, io.env)
  const isBlocked = rows.some(({ blockedMs }) => blockedMs > 0)
  const rowOf = (row: InspectedKey): readonly string[] => {
    const { policy, key, limit, remaining, retryAfterMs, resetAfterMs, blockedMs, unused, available } = row
    const afterMs = (units: number): number | null | undefined =>
      available.find((each) => each.units === units)?.afterMs
    const [one, half] = [afterMs(1), afterMs(Math.max(Math.ceil(limit / 2), 1))]
    return [
      policy,
      plain(key, 40),
      count(remaining),
      count(limit),
      whenText(retryAfterMs, one !== undefined),
      whenText(half === undefined ? 0 : half, half !== undefined),
      unused ? 'nothing kept' : whenText(resetAfterMs, remaining >= limit),
      ...(isBlocked ? [blockedText(blockedMs)] : []),
    ]
  }
  const head = ['policy', 'key', 'remaining', 'of', 'next request', 'half', 'full', ...(isBlocked ? ['blocked'] : [])]
  return `${columns(head, rows.map(rowOf), (text) => paint('dim', text), widthOf(io.stdout))}\n`
}

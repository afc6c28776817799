import assert from 'node:assert/strict'
import { quotasOf } from '@spillway/conformance'
import type { Decision, Quota, SyncStore, Take } from '@spillway/core'
import type { HeaderForm } from '@spillway/core/http'
import { maxUnits } from '@spillway/core/internal'
import fc from 'fast-check'
import { parseRateLimit } from 'ratelimit-header-parser'
import { parseList } from 'structured-headers'
import type { Delivery, Outcome } from './deliver.ts'
import { CLIENTS, type HostileRequest, hostileRequest } from './requests.ts'

export const AT_ONCE = 25

export interface Scenario {
  readonly policies: readonly { readonly name: string; readonly quota: Quota; readonly parts: boolean }[]
  readonly headers: readonly HeaderForm[]
  readonly jitter: number
  /** Requests come through a trusted proxy, which appends the client to X-Forwarded-For. */
  readonly trusted: boolean
  readonly requests: readonly HostileRequest[]
}

// Without the leaky bucket, which would delay requests in real time.
const { 'leaky bucket': _, ...atOnce } = quotasOf

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  policies: fc.uniqueArray(
    fc.record({
      name: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 }),
      quota: fc.oneof(...Object.values(atOnce)),
      parts: fc.boolean(),
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
  ),
  headers: fc.constantFrom<HeaderForm[]>(
    ['draft-11'],
    ['draft-10', 'draft-6'],
    ['legacy-epoch', 'draft-11', 'draft-6'],
  ),
  jitter: fc.constantFrom(0, 0.5),
  trusted: fc.boolean(),
  requests: fc.array(hostileRequest, { minLength: AT_ONCE, maxLength: AT_ONCE }),
})

/** A store that records its last call. */
export function watched(store: SyncStore) {
  const asked: Take[] = []
  const takeSync: SyncStore['takeSync'] = (ops, at) => {
    // Slots are released once a response has ended.
    asked.push(...ops.filter(({ step }) => step.increment > 0))
    return store.takeSync(ops, at)
  }
  const prepareSync: SyncStore['prepareSync'] = (policy, step) => {
    const take = (store as Required<SyncStore>).prepareSync(policy, step)
    return {
      look: (key, at) => {
        asked.push({ policy, key, step })
        return take.look(key, at)
      },
      commit: (allowed) => take.commit(allowed),
      take: (key, at) => {
        asked.push({ policy, key, step })
        return take.take(key, at)
      },
    }
  }
  return { store: { ...store, takeSync, prepareSync }, asked }
}

const headerOf = ({ lines }: HostileRequest, name: string): string =>
  lines
    .filter(([each]) => each.toLowerCase() === name)
    .map(([, value]) => value)
    .join(', ')

/**
 * The largest number that a handler can read in a line or between commas, at most 9. A value without a number above 0 costs
 * the default, 2.
 */
function costOf(request: HostileRequest): number {
  const numbers = headerOf(request, 'x-weight')
    .split(',')
    .map((each) => Math.max(...[Number, Number.parseFloat, Number.parseInt].map((read) => read(each) || 0)))
  return Math.min(Math.max(...numbers.map((each) => (each > 0 ? Math.ceil(each) : 2))), 9)
}

/** The parts of a composite key, each with its length as prefix. */
function partsOf(key: string): string[] {
  const parts: string[] = []
  for (let rest = key; rest !== ''; ) {
    const colon = rest.indexOf(':')
    const end = colon + 1 + Number(rest.slice(0, colon))
    assert.ok(rest.length >= end)
    parts.push(rest.slice(colon + 1, end))
    rest = rest.slice(end)
  }
  return parts
}

export function checkAsked(asked: readonly Take[], { policies }: Scenario, request: HostileRequest): void {
  assert.deepEqual(
    asked.map(({ policy }) => policy),
    policies.map(({ name }) => name),
  )
  for (const [i, { quota, parts }] of policies.entries()) {
    const { key, step } = asked[i] as Take
    const unit = 'ticksPerUnit' in quota ? quota.ticksPerUnit / quota.scale : 1
    // A cost that never fits is one unit more than the quota ever has.
    const units = Math.min(costOf(request), maxUnits(quota) + 1)
    assert.ok(Math.abs(step.increment - units * unit) < 1)
    if (parts) {
      const [apiKey, method, ...others] = partsOf(key)
      // Some frameworks trim the joined value of several header lines.
      assert.deepEqual(
        [apiKey?.trim(), method, others.length],
        [headerOf(request, 'x-api-key').trim(), request.method, 3],
      )
    } else {
      assert.equal(key, CLIENTS[request.client]?.[1])
    }
  }
}

/** A request directly from its client, or through the proxy, which appends the client's address. */
export function deliveryOf(request: HostileRequest, { trusted }: Scenario): Delivery {
  const client = CLIENTS[request.client]?.[0] as string
  const reported: HostileRequest['lines'] = trusted ? [['X-Forwarded-For', client]] : []
  return { ...request, lines: [...request.lines, ...reported], from: trusted ? '10.0.0.1' : client }
}

/** Checks that a denied request gets 429, and that any other status is 200 or the same as without a limit. */
export async function checkStatus(status: number, decision: Decision | undefined, without: () => Promise<Outcome>) {
  if (decision?.violated.length) assert.equal(status, 429)
  else if (status !== 200) assert.equal(status, (await without()).status)
}

type Item = { readonly item: string } & Readonly<Record<string, unknown>>

/** Parses the headers with two independent parsers. */
export function checkTold(
  { status, headers }: Outcome,
  { policies, headers: forms }: Scenario,
  { violated }: Decision,
): void {
  const items = (name: string): readonly Item[] => {
    const list = parseList(headers.get(name) ?? '')
    return list.map(([item, parameters]) => ({ item: String(item), ...Object.fromEntries(parameters) }))
  }
  const [reported, left] = [items('ratelimit-policy'), items('ratelimit')]
  const names = policies.map(({ name }) => name)
  assert.deepEqual([reported.map(({ item }) => item), left.map(({ item }) => item)], [names, names])
  const retry = headers.get('retry-after')
  if (retry !== undefined) assert.match(`${status} ${retry}`, /^429 [1-9][0-9]*$/)
  for (const [i, { item, r, t }] of left.entries()) {
    assert.ok(Number(r) >= 0 && Number(r) <= Number(reported[i]?.q), `${r} left of ${reported[i]?.q}`)
    const denies = retry !== undefined && t !== undefined && violated.includes(item)
    if (denies) assert.ok(Number(retry) >= Number(t), `Retry-After: ${retry}, but t=${t}`)
  }
  if (!forms.includes('draft-6')) return
  const fields = ['limit', 'remaining', 'reset'].map((name) => `ratelimit-${name}`)
  const six = Object.fromEntries(fields.map((name) => [name, headers.get(name) ?? '']))
  // A form with room for one policy reports one that denies, whose reset is Retry-After, even if others have fewer left.
  const remaining = parseRateLimit(six, { reset: 'seconds' })?.remaining
  const denying = left.filter(({ item }) => violated.includes(item)).map(({ r }) => Number(r))
  if (denying.length > 0) assert.ok(denying.includes(Number(remaining)), `${remaining} left, not one of ${denying}`)
  else assert.equal(remaining, Math.min(...left.map(({ r }) => Number(r))))
}

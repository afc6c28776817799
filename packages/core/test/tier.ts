import { fakeClock, modelStore } from '@spillway/conformance'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'

export interface FakeRequest {
  readonly plan?: string
  readonly later?: boolean
}

export type Policy = PolicyOptions<FakeRequest>

export function setUp(policies: readonly Policy[]) {
  const options = { policies, store: modelStore(fakeClock()), claims: ({ plan }: FakeRequest) => ({ plan }) }
  const guard = httpGuard<FakeRequest>(options as RateLimitOptions<FakeRequest>, plainReader)
  /** The policies that count a request, with what is left of them. */
  const counting = async (plan?: string, later = false): Promise<readonly (readonly [string, number])[]> => {
    const { decision } = await guard({ ...(plan && { plan }), later })
    return (decision?.policies ?? (decision ? [decision] : [])).map(({ policy, remaining }) => [policy, remaining])
  }
  return { guard, counting }
}

export const tier = (name: string, limit: number, options: Partial<Policy> = {}): Policy => ({
  name,
  quota: perMinute(limit),
  tiers: 'plan',
  ...options,
})

export const tiersOf = (rules: readonly object[]): readonly (readonly [string, string | undefined])[] =>
  policiesFrom(JSON.parse(JSON.stringify(rules))).map(({ name, tiers }) => [name, tiers])

import type { Quota } from '../../algorithms/quota-types.ts'
import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { Policy, PolicyCheck, StoreConfig } from '../../policies/policy.ts'
import type { Registration } from '../../stores/registry.ts'
import type { HeaderItem } from '../headers/header-item.ts'
import type { DenialBuilder } from '../headers/problem.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { Read } from './request-sources.ts'

/** A policy, with the parts of its headers that are the same for every request. */
export interface HttpPolicy extends Policy {
  readonly item: HeaderItem
  readonly denialFor: DenialBuilder
  /** Whether its units are in use for as long as the request is: nothing corrects their number. */
  readonly isHeld?: boolean
}

/** Makes the policy of a quota. `named` is the name of its states, by default that of the policy. */
export type PolicyBuilder = (quota: Quota, named?: string) => HttpPolicy

/** Reads more of a request into a check. */
export type Complete<R, S> = (check: HttpCheck<R, S>, parts: RequestParts<R>) => MaybePromise<unknown>

/** A policy's quota: the policy that has it, unless it is chosen by request. */
export interface ChosenQuota<R, S> {
  readonly policy: HttpPolicy | undefined
  readonly registered: Pick<Registration, 'quota' | 'quotaFunction'>
  readonly completes: readonly Complete<R, S>[]
}

/** A policy's options, compiled. Features extend it by what they have compiled. */
export interface CompiledPolicy<R, S> {
  /** The name of its states in the store. */
  readonly name: string
  readonly storeConfig: StoreConfig
  /** The names of its states, with what is counted under them: its own first. */
  readonly registrations: readonly [Registration, ...Registration[]]
  /** Undefined if the quota is chosen by request. */
  readonly policy: HttpPolicy | undefined
  readonly build: PolicyBuilder
  readonly keyOf: Read<R, string | undefined>
  /** The cost of a request, if nothing else is read. */
  readonly cost: number
  /** What is read of a request after its key. */
  readonly completes: readonly Complete<R, S>[]
  /** The name of the policy for requests that it denies. */
  readonly spill?: string
}

/** A check of a policy and one key, with what follows from its result. Features complete its policy, cost and partition. */
export interface HttpCheck<R = unknown, S = unknown> extends PolicyCheck {
  policy: HttpPolicy
  cost: number
  /** The options of the policy: how its denials are answered, and its costs corrected. */
  readonly compiled: CompiledPolicy<R, S>
  /** The partition of the key as headers have it. */
  pk: string
  readonly spill?: HttpCheck<R, S>
}

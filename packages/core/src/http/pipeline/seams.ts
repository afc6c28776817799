import type { Quota } from '../../algorithms/quota-types.ts'
import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { Logger } from '../../common/warn.ts'
import type { Acquisition, StoreConfig } from '../../policies/policy.ts'
import type { Registration } from '../../stores/registry.ts'
import type { Store } from '../../stores/store.ts'
import type { ShownNames } from '../headers/display-names.ts'
import type { Header } from '../headers/headers.ts'
import type { DenialBuilder } from '../headers/problem.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { RequestReader } from '../requests/reader.ts'
import type { ChosenQuota, CompiledPolicy, HttpCheck, PolicyBuilder } from './compiled.ts'
import type { Read, RequestSources } from './request-sources.ts'
import type { Closed, Draft } from './verdict.ts'

/** What is known of a limiter while it is built, and on each request. */
export interface Setup<R, S> extends RequestSources<R> {
  readonly options: object
  readonly names: OptionNames
  readonly storeConfig: StoreConfig
  readonly seams: Seams<R, S>
}

/** What a policy is compiled with. */
export interface Building<R, S> {
  readonly setup: Setup<R, S>
  readonly storeConfig: StoreConfig
  /**
   * The name of its states in the store.
   * @default the name of the policy
   */
  readonly stateName?: string
}

/** The names of the options that a limiter has: of all policies, and of each policy. */
export interface OptionNames {
  readonly limiter: readonly string[]
  readonly policy: readonly string[]
}

/** Ends the error about an option. */
export type Hint = (
  option: string,
  known: readonly string[],
  given?: readonly string[],
  peerHint?: string,
) => string | undefined

/** Reads the checks of a request. */
export type ChecksBuilder<R, S> = (parts: RequestParts<R>) => MaybePromise<readonly HttpCheck<R, S>[]>

/** Consumes the units of checks; undefined without any, and `Closed` if the client has left before its turn. */
export type AcquisitionBuilder<R, S> = (
  parts: RequestParts<R>,
  checks: readonly HttpCheck<R, S>[],
) => MaybePromise<Acquisition | Closed | undefined>

/** Builds the headers that report an acquisition. */
export type HeaderBuilder = (acquisition: Acquisition, names?: ShownNames) => readonly Header[]

/** Makes the verdict about a request of its acquisition. */
export type VerdictBuilder<R, S> = (parts: RequestParts<R>, acquisition: Acquisition | Closed | undefined) => Draft<S>

/**
 * The places of the pipeline at which features add what they do, in the order in which a limiter is built and a request passes.
 * Each is called in one place. `plain.ts` has what they do without features.
 */
export interface Seams<R, S> {
  /** Proposes what to write instead of an option that there is not among the `known`. `given` are those of the limiter. */
  readonly hint: Hint
  /** Checks the options of the limiter, and returns a copy of them. */
  readonly options: (given: unknown, names: OptionNames, hint: Hint) => object
  /** Checks where the counts are kept. `defaultStore` makes the store of a limiter that is given none. */
  readonly store: (options: object, defaultStore?: () => Store) => StoreConfig
  /** Builds what reads the client of a request. */
  readonly sources: (options: object, reader: RequestReader<R>, logger: Logger) => RequestSources<R>
  /** Builds the test of requests that are not counted; undefined if all are. */
  readonly skips: (setup: Setup<R, S>) => Read<R, boolean> | undefined
  /** Finds the options of each policy. */
  readonly policies: (options: object, names: OptionNames) => readonly object[]
  /** Compiles policies, each by `compile`. */
  readonly several: (
    policies: readonly object[],
    compile: (options: object) => CompiledPolicy<R, S>,
  ) => readonly CompiledPolicy<R, S>[]
  /** Compiles the options of a policy. */
  readonly policy: (options: object, building: Building<R, S>) => CompiledPolicy<R, S>
  /** Compiles the key of a policy. */
  readonly key: (option: unknown, sources: RequestSources<R>) => Read<R, string | undefined>
  /** Compiles the quota of a policy; `build` makes the policy of a quota. */
  readonly quota: (option: unknown, build: PolicyBuilder, name: string) => ChosenQuota<R, S>
  /** Builds what answers the denials of a policy with a quota. `named` is its name in the answer. */
  readonly denial: (named: string, options: object, quota: Quota) => DenialBuilder
  /** Registers the names of the states instead of those in `before`. */
  readonly register: (registrations: readonly Registration[], before: readonly Registration[]) => void
  /** Builds what reads the checks of a request. */
  readonly checks: (policies: readonly CompiledPolicy<R, S>[]) => ChecksBuilder<R, S>
  /** Builds what consumes the units of checks. */
  readonly enforce: (policies: readonly CompiledPolicy<R, S>[], setup: Setup<R, S>) => AcquisitionBuilder<R, S>
  /** Builds what reports acquisitions in headers. */
  readonly headers: (policies: readonly CompiledPolicy<R, S>[], options: object) => HeaderBuilder
  /** Builds what makes verdicts. */
  readonly verdict: (policies: readonly CompiledPolicy<R, S>[], setup: Setup<R, S>) => VerdictBuilder<R, S>
  /** Builds the calls that are not about requests. */
  readonly calls: (policiesNow: () => readonly CompiledPolicy<R, S>[]) => object
}

/** What a feature adds to a seam: `next` is what the seam does without it. */
export type Layers = {
  readonly [Name in keyof Seams<unknown, unknown>]?: <R, S>(next: Seams<R, S>[Name]) => Seams<R, S>[Name]
}

/** The types of a framework. */
export interface Framework<R = unknown, S = R, A = S> {
  readonly request: R
  /** The response that `settle` reads. */
  readonly response: S
  /** The response with which `onDenied` may answer. */
  readonly answer: A
}

/** The types of the options of a feature, written with `this['request']`: a lean entry knows which request that is. */
export interface OptionTypes extends Framework {
  /** The options for all policies. */
  readonly limiter: object
  /** The options for each policy. */
  readonly policy: object
  /** What the limiter can do besides. */
  readonly calls: object
}

/** A feature of limiters: its options, and what it adds to the pipeline. Who does not install it pays nothing for it. */
export interface Feature<T extends OptionTypes = OptionTypes> {
  /** Its name in errors. */
  readonly name: string
  /** The names of its options for all policies. */
  readonly options?: readonly string[]
  /** The names of its options for each policy. */
  readonly policyOptions?: readonly string[]
  /** The features that it is built on, which must be installed before it. */
  readonly needs?: readonly Feature[]
  readonly layers: Layers
  /** Whether its verdicts can be discarded. */
  readonly refunds?: boolean
  /** What adapters need for it. */
  readonly parts?: object
  /** Only a type: it is never set. */
  readonly types?: T
}

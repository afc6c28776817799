import type { Quota } from '../../algorithms/quota-types.ts'
import { formatValue, QuotaError } from '../../common/errors.ts'
import { andThen, type MaybePromise } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import type { HeaderItem } from '../../http/headers/header-item.ts'
import type { Header } from '../../http/headers/headers.ts'
import { withCalls } from '../../http/pipeline/calls.ts'
import type { CompiledPolicy, PolicyBuilder } from '../../http/pipeline/compiled.ts'
import type { Feature, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED } from '../../http/pipeline/verdict.ts'
import type { Acquisition, PolicyCheck } from '../../policies/policy.ts'
import { untilEnded } from '../settling/open-corrections.ts'
import type { SettleOptions } from '../settling/settle-options.ts'
import { catchUp } from './heartbeat.ts'
import { hold, isSlots } from './held.ts'

/** What `inFlight` brings: a request holds its slots until its response has ended. */
export const slots: Feature = { name: 'slots', layers: { store: withCalls, policy, quota, enforce, headers, verdict } }

/** Nothing that a response shows changes how many slots its request has had. */
function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    const { settle, countIf } = options as SettleOptions<S>
    const option = settle === undefined ? countIf && 'countIf' : 'settle'
    if (option === undefined || !compiled.policy?.isHeld) return compiled
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `policy ${formatValue(compiled.name)}: ${option} corrects units, and inFlight has none: slots are released when the response has ended. Remove ${option}, or give it to a policy with another quota.`,
    )
  }
}

/** Slots have no window: their headers report how many there are. */
function quota<R, S>(next: Seams<R, S>['quota']): Seams<R, S>['quota'] {
  return (option, build, name) => {
    const buildSlots: PolicyBuilder = (quota, named) => {
      const policy = build(quota, named)
      return quota.kernel === 'slots' ? { ...policy, item: itemOf(policy.item, quota), isHeld: true } : policy
    }
    return next(option, buildSlots, name)
  }
}

function itemOf({ policy: [header], rest }: HeaderItem, { limit }: Quota): HeaderItem {
  const name = rest.slice(0, rest.lastIndexOf(';'))
  return { policy: [header, `${name};q=${limit};qu="concurrent-requests"`], rest, numbers: `${limit}`, limit }
}

/** Whether a policy may have slots: its quota may be chosen by request. */
const mayHold = <R, S>({ policy }: CompiledPolicy<R, S>): boolean =>
  policy === undefined || policy.quota.kernel === 'slots'

function enforce<R, S>(next: Seams<R, S>['enforce']): Seams<R, S>['enforce'] {
  return (policies, setup) => {
    const consume = next(policies, setup)
    if (!policies.some(mayHold)) return consume
    return (parts, checks) => {
      catchUp()
      return consume(parts, checks)
    }
  }
}

/** Without the time until the quota is full, in fields of older forms that report a policy with slots: it is not known. */
function headers<R, S>(next: Seams<R, S>['headers']): Seams<R, S>['headers'] {
  return (policies, options) => {
    const build = next(policies, options)
    if (!policies.some(mayHold)) return build
    return (acquisition, names) => {
      const sent = build(acquisition, names)
      const reported = reportedIn(acquisition)
      const hasSlots = acquisition.checks.some((check) => isSlots(check) && check.policy.name === reported)
      return hasSlots ? sent.flatMap(withoutReset) : sent
    }
  }
}

/** The policy that fields with room for one report: the one that denies, or has the fewest units. */
function reportedIn({ decision }: Acquisition): string {
  const { allowed, policy, policies = [] } = decision
  if (!allowed || policies.length === 0) return policy
  return policies.reduce((a, b) => (b.remaining < a.remaining ? b : a)).policy
}

const withoutReset = ([name, value]: Header): readonly Header[] =>
  name.endsWith('-Reset') ? [] : [[name, value.replace(/, reset=\d+$/, '')]]

/** The verdict, with what releases the slots of its request. */
function verdict<R, S>(next: Seams<R, S>['verdict']): Seams<R, S>['verdict'] {
  return (policies, setup) => {
    const judge = next(policies, setup)
    if (!policies.some(mayHold)) return judge
    const { logger, names, reader } = setup
    // The adapter reports the end of a response to what corrects its cost.
    const isReported = names.limiter.includes('refundIf')
    if (!isReported && policies.some(({ policy }) => policy?.quota.kernel === 'slots')) throw settlingIsMissing()
    const onLost = warnsOfLoss(logger)
    return (parts, acquisition) => {
      const draft = judge(parts, acquisition)
      const shadows = parts.beside as readonly MaybePromise<Acquisition | undefined>[]
      if (acquisition === CLOSED) return draft
      const hasSlots = acquisition?.checks.some(isSlots) === true
      if (!isReported && hasSlots) throw settlingIsMissing()
      if (!hasSlots && shadows.length === 0) return draft
      const held = [acquisition, ...shadows].map((pending) => andThen(pending, (known) => known && hold(known, onLost)))
      const release = (): Promise<unknown> =>
        untilEnded(Promise.all(held.map((each) => andThen(each, (known) => known?.release()))), logger)
      const { denial, after, discard } = draft
      if (denial !== undefined) {
        void release()
        return draft
      }
      // Not all servers report the end of a response that has no reader any more.
      let isHeld = false
      const stop = reader.onClientClosed(parts.request, () => {
        // A request whose client has left by now is discarded.
        if (isHeld) void release()
      })
      isHeld = true
      return {
        ...draft,
        after: async (...ended) => {
          stop()
          await Promise.all([release(), after?.(...ended)])
        },
        discard: () => {
          isHeld = false
          stop()
          for (const each of held) void andThen(each, (known) => known?.abandon())
          discard()
        },
      }
    }
  }
}

const settlingIsMissing = (): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'inFlight needs the feature settling, which learns when a response has ended: createRateLimit(settling).',
  )

/** Warns that a request goes on without the slots that it held. */
export const warnsOfLoss =
  (logger: Logger) =>
  ({ policy }: Pick<PolicyCheck, 'policy'>): void =>
    warnOnce(
      logger,
      'WARN_SPILLWAY_SLOTS_LOST',
      'a request lost its slot while it was running: ',
      `policy ${formatValue(policy.name)}: this process or its store did not answer for ${policy.quota.window / 1e6} s, or the key was reset. Another request may have the slot. Raise ttl of inFlight if the process pauses for that long.`,
    )

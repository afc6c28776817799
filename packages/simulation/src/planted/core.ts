import type { Planted } from '../defect.ts'

/** Defects of the limiter, the middleware, and the kernels. */
export const CORE_DEFECTS: readonly Planted[] = [
  {
    name: 'units of late answers are kept',
    file: 'core/src/remote/late-units.ts',
    seed: 14,
    property: 'nothingIsLost',
    replaced: [['if (units && takes.length > 0) breakerOf', 'if (units && takes.length < 0) breakerOf']],
  },
  {
    name: 'refunds of late answers go through the open circuit',
    file: 'core/src/remote/late-units.ts',
    seed: 23,
    property: 'nothingIsLost',
    replaced: [
      [
        'breakerOf(configOf(units.checks).store).sendRefund(takes)',
        'void Promise.resolve(configOf(units.checks).calls.take(units.checks, takes)).catch(() => {})',
      ],
    ],
  },
  {
    name: 'refunds that wait for the store are forgotten when it answers',
    file: 'core/src/remote/breaker.ts',
    seed: 1494,
    property: 'nothingIsLost',
    replaced: [['for (const each of circuit.refunds) sendRefund(each)', '']],
  },
  {
    name: 'a failed probe leaves the circuit half-open for ever',
    file: 'core/src/remote/breaker.ts',
    seed: 10,
    property: 'circuitsClose',
    replaced: [
      [
        'if (attempt?.isProbe) attempt.circuit.probeUntilMs = 0',
        'if (attempt?.isProbe) attempt.circuit.probeUntilMs = Infinity',
      ],
    ],
  },
  {
    name: 'a denial by one store leaves the units of another',
    file: 'core/src/policies/in-order.ts',
    seed: 62,
    property: 'nothingIsLost',
    replaced: [['...taken.map(rollbackOne), ', '']],
  },
  {
    name: 'replicas are ignored while the store fails',
    file: 'core/src/remote/remote-calls.ts',
    seed: 15,
    property: 'processesAdmitNoMore',
    replaced: [['shareOf: shareOfQuota', 'shareOf: (quota) => quota']],
  },
  {
    name: 'a clock that steps back refills the bucket',
    file: 'core/src/kernels/bucket.ts',
    seed: 75,
    property: 'storesAdmitNoMore',
    replaced: [['{ tick: nowTick + ceiling, early: 0 }', 'now']],
  },
  {
    name: 'a bucket admits a unit too many',
    file: 'core/src/kernels/bucket.ts',
    seed: 16,
    property: 'storesAdmitNoMore',
    replaced: [
      ['allowed: fitsAt(base, step) <= due,', 'allowed: fitsAt(base, step) <= due + Math.max(step.increment, 0),'],
    ],
  },
  {
    name: 'the turn of a caller that leaves is not returned',
    file: 'core/src/limiter/turn-queue.ts',
    seed: 7,
    property: 'nothingIsLost',
    replaced: [['refunds.push(rollback(last.value.acquisition))', '']],
  },
  {
    name: 'a refund returns units that have refilled meanwhile',
    file: 'core/src/kernels/bucket.ts',
    seed: 5,
    property: 'storesAdmitNoMore',
    replaced: [['Math.max(nowTick, turn)', 'turn']],
  },
  {
    name: 'the deadline passes before the socket is read',
    file: 'core/src/remote/deadline.ts',
    seed: 1,
    property: 'stallsAreNoFailures',
    replaced: [
      [
        'if (immediate === undefined) this.',
        'if (immediate !== null) this.onExpired()\n    else if (immediate === undefined) this.',
      ],
    ],
  },
  {
    name: 'a denial says a wait that is 1 % too short',
    file: 'core/src/algorithms/decision-of.ts',
    seed: 10,
    property: 'waitsAreLongEnough',
    replaced: [
      ['retryAfterMs: retryAfter / 1000', 'retryAfterMs: retryAfter / 1010'],
      ['retryAfterMs: allowed ? 0 : wait / 1000', 'retryAfterMs: allowed ? 0 : wait / 1010'],
    ],
  },
  {
    name: 'a request whose client has left keeps its units',
    file: 'core/src/http/pipeline/guard.ts',
    seed: 676,
    property: 'nothingIsLost',
    replaced: [['verdict.discard()', '']],
  },
  {
    name: 'a sliding log admits a unit too many',
    file: 'core/src/kernels/sliding-log.ts',
    seed: 137,
    property: 'processesAdmitNoMore',
    replaced: [['unitsOf(base) + step.check <= step.limit', 'unitsOf(base) + step.check <= step.limit + 1']],
  },
  {
    name: 'a charge that was reported as failed stays',
    file: 'core/src/remote/remote-calls.ts',
    seed: 14,
    property: 'nothingIsLost',
    replaced: [
      ['if (error instanceof StoreError) lateUnits(error, lateAnswerTo(checks, takes)).settle(NONE_USED)', ''],
    ],
  },
  {
    name: 'a failure of one store leaves the units of another',
    file: 'core/src/policies/in-order.ts',
    seed: 372,
    property: 'nothingIsLost',
    replaced: [['for (const result of taken) void rollbackOne(result)', '']],
  },
  {
    name: 'each store of a call has a deadline of its own',
    file: 'core/src/policies/in-order.ts',
    seed: 62,
    property: 'everyCallIsAnswered',
    replaced: [['firstMs ??= monotonicMs()', 'firstMs = monotonicMs()']],
  },
  {
    name: 'a stall does not extend the deadline',
    file: 'core/src/remote/deadline.ts',
    seed: 63,
    property: 'stallsAreNoFailures',
    replaced: [['if (overrunMs > 0) {', 'if (overrunMs > Number.POSITIVE_INFINITY) {']],
  },
]

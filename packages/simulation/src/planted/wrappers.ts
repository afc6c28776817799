import type { Planted } from '../defect.ts'

/** Defects of the deny cache and of leases. */
export const WRAPPERS_DEFECTS: readonly Planted[] = [
  {
    name: 'a denial from before a refund is cached after it',
    file: 'core/src/wrappers/deny-cache.ts',
    seed: 35,
    property: 'denialsAreTrue',
    replaced: [['number > cache.lastInvalidation && hasDenied', 'hasDenied']],
  },
  {
    name: 'a reset leaves the lease',
    file: 'core/src/wrappers/leasing.ts',
    seed: 367,
    property: 'storesAdmitNoMore',
    replaced: [['alone(keys, () => store.delete(keys, deadline), { deadline })', 'store.delete(keys, deadline)']],
  },
  {
    name: 'what is left of a lease is counted after others have returned it',
    file: 'core/src/wrappers/lease-server.ts',
    seed: 50,
    property: 'releasesReturnLeases',
    replaced: [
      ['entry.lease = undefined\n    entry.askedMs', 'entry.askedMs'],
      ['if (entry.serving && !server.isStuck(entry)) await entry.serving', '', 'core/src/wrappers/leasing.ts'],
    ],
  },
  {
    name: 'a replaced quota denies by what the one before has cached',
    file: 'core/src/wrappers/deny-cache.ts',
    seed: 3,
    property: 'denialsAreTrue',
    replaced: [
      [
        'found.map(({ state }, i) => runKernel(state, now, (ops[i] as Take).step))',
        'found.map(({ state, step }) => runKernel(state, now, step))',
      ],
    ],
  },
  {
    name: 'an expired call that has waited for a lease is sent',
    file: 'core/src/wrappers/waiters.ts',
    seed: 26,
    property: 'expiredCallsAreNotSent',
    replaced: [['else if (isExpired(waiter.deadline)) waiter.reject(expiredError())', '']],
  },
  {
    name: 'a reset of all keys leaves the leases',
    file: 'core/src/wrappers/leasing.ts',
    seed: 428,
    property: 'storesAdmitNoMore',
    replaced: [['policies.includes(key.policy)', 'false']],
  },
  {
    name: 'a reset of all keys leaves the cached denials',
    file: 'core/src/wrappers/deny-cache.ts',
    seed: 56,
    property: 'denialsAreTrue',
    replaced: [['if (policies.includes(policy)) denials.delete(name)', 'void [name, policy]']],
  },
  {
    name: 'a lease is dated by its answer, not by its call',
    file: 'core/src/wrappers/lease-server.ts',
    seed: 16,
    property: 'storesAdmitNoMore',
    replaced: [
      ['divide(entry, waiters, taken, left)', 'divide({ ...entry, askedMs: stopwatch() }, waiters, taken, left)'],
    ],
  },
  {
    name: 'a release leaves the lease that is being taken',
    file: 'core/src/wrappers/leasing.ts',
    seed: 50,
    property: 'releasesReturnLeases',
    replaced: [['(entry.lease ?? entry.serving ?? entry.ending)', 'entry.lease']],
  },
  {
    name: 'requests that wait for a lease are sent one by one',
    file: 'core/src/wrappers/lease-server.ts',
    seed: 893,
    property: 'stallsAreNoFailures',
    replaced: [
      [
        "let full = exactIn(last, 'tat')",
        "let line: Promise<unknown> = Promise.resolve()\n    let full = exactIn(last, 'tat')",
      ],
      [
        'resolve(fits ? check(entry, each) : denial(now, full, take.step))',
        'resolve((fits ? (line = line.then(() => check(entry, each))) : denial(now, full, take.step)) as BucketTaken)',
      ],
    ],
  },
  {
    name: 'a lease is spent by another quota',
    file: 'core/src/wrappers/lease-server.ts',
    seed: 75,
    property: 'replacedQuotasAdmitNoMore',
    replaced: [
      [
        'if (lease === undefined || !isSameQuota(lease.step, step)) return undefined',
        'if (lease === undefined) return undefined',
      ],
      [
        'entry.lease !== undefined && !isSameQuota(entry.lease.step, call.take.step)',
        'false',
        'core/src/wrappers/leasing.ts',
      ],
      [
        'if (left < parts || !allowed) return undefined',
        'if (left < parts) return undefined',
        'core/src/wrappers/lease.ts',
      ],
    ],
  },
]

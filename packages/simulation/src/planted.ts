/** A defect to put back into the code, by the text of the file. */
export interface Planted {
  readonly name: string
  /** The file, from `packages/`, unless a text is in another one. */
  readonly file: string
  /** The first seed that finds it, and the property that it breaks. */
  readonly seed: number
  readonly property: string
  readonly replaced: readonly (readonly [text: string, by: string, file?: string])[]
}

/** Defects that this project has had or could have, each of which a seed must find. */
export const PLANTED: readonly Planted[] = [
  {
    name: 'units of late answers are kept',
    file: 'core/src/store-result.ts',
    seed: 23,
    property: 'nothingIsLost',
    replaced: [['if (takes.length > 0) breakerOf', 'if (takes.length < 0) breakerOf']],
  },
  {
    name: 'refunds of late answers go through the open circuit',
    file: 'core/src/store-result.ts',
    seed: 23,
    property: 'nothingIsLost',
    replaced: [
      [
        'breakerOf((checks[0] as PolicyCheck).policy.storeConfig.store).queueRefund(takes, true)',
        'void Promise.resolve(answerTo(checks, takes)).catch(() => {})',
      ],
    ],
  },
  {
    name: 'refunds that wait for the store are forgotten when it answers',
    file: 'core/src/breaker.ts',
    seed: 1494,
    property: 'nothingIsLost',
    replaced: [['for (const each of circuit.refunds) send(each)', '']],
  },
  {
    name: 'a failed probe leaves the circuit half-open for ever',
    file: 'core/src/breaker.ts',
    seed: 10,
    property: 'circuitsClose',
    replaced: [['if (isProbe) circuit.probing = false', '']],
  },
  {
    name: 'stores of one client have deny caches of their own',
    file: 'redis/src/store.ts',
    seed: 419,
    property: 'denialsAreTrue',
    replaced: [['scope: scopeOf(client, options) })', 'scope: {} })']],
  },
  {
    name: 'a denial by one store leaves the units of another',
    file: 'core/src/acquire-in-order.ts',
    seed: 108,
    property: 'nothingIsLost',
    replaced: [['...taken.map(rollbackOne), ', '']],
  },
  {
    name: 'replicas are ignored while the store fails',
    file: 'core/src/policy.ts',
    seed: 15,
    property: 'processesAdmitNoMore',
    replaced: [['replicas === 1 ? quota : divideQuota(quota, { replicas })', 'quota']],
  },
  {
    name: 'a clock that steps back refills the bucket',
    file: 'core/src/kernels/bucket.ts',
    seed: 75,
    property: 'storesAdmitNoMore',
    replaced: [['{ tick: nowTick + ceiling, early: 0 }', 'now']],
  },
  {
    name: 'answers of a batch are given to the wrong callers',
    file: 'redis/src/coalesce.ts',
    seed: 47,
    property: 'listsAreTrue',
    replaced: [
      ['resolve(answers[i] as readonly Taken[])', 'resolve(answers[batch.length - 1 - i] as readonly Taken[])'],
    ],
  },
  {
    name: 'a bucket admits a unit too many',
    file: 'core/src/kernels/bucket.ts',
    seed: 47,
    property: 'everyCallIsAnswered',
    replaced: [
      ['allowed: fitsAt(base, step) <= due,', 'allowed: fitsAt(base, step) <= due + Math.max(step.increment, 0),'],
    ],
  },
  {
    name: 'a denial from before a refund is cached after it',
    file: 'core/src/wrappers/deny-cache.ts',
    seed: 35,
    property: 'denialsAreTrue',
    replaced: [['number > cache.lastInvalidation && !taken', '!taken']],
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
    seed: 149,
    property: 'storesAdmitNoMore',
    replaced: [
      ['entry.lease = undefined\n    entry.askedMs', 'entry.askedMs'],
      ['if (entry.serving && !server.isStuck(entry)) await entry.serving', '', 'core/src/wrappers/leasing.ts'],
    ],
  },
  {
    name: 'the turn of a caller that leaves is not returned',
    file: 'core/src/turns.ts',
    seed: 7,
    property: 'nothingIsLost',
    replaced: [['await rollback(unused)', '']],
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
    file: 'core/src/deadline.ts',
    seed: 1,
    property: 'stallsAreNoFailures',
    replaced: [['stop = afterIo(callback)', 'callback()']],
  },
  {
    name: 'a denial says a wait that is 1 % too short',
    file: 'core/src/decision.ts',
    seed: 10,
    property: 'waitsAreLongEnough',
    replaced: [['retryAfterMs: retryAfter / 1000', 'retryAfterMs: retryAfter / 1010']],
  },
  {
    name: 'a request whose client has left keeps its units',
    file: 'fetch/src/rate-limit.ts',
    seed: 444,
    property: 'nothingIsLost',
    replaced: [['known.discard()', '']],
  },
  {
    name: 'a sliding log admits a unit too many',
    file: 'core/src/kernels/sliding-log.ts',
    seed: 137,
    property: 'processesAdmitNoMore',
    replaced: [['unitsOf(base) + step.check <= step.limit', 'unitsOf(base) + step.check <= step.limit + 1']],
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
    name: 'an expired call is sent again by its script',
    file: 'redis/src/clients.ts',
    seed: 10,
    property: 'expiredCallsAreNotSent',
    replaced: [['if (isExpired(deadline)) throw error', '']],
  },
  {
    name: 'an expired call that has waited for a lease is sent',
    file: 'core/src/wrappers/lease-server.ts',
    seed: 26,
    property: 'expiredCallsAreNotSent',
    replaced: [
      ['else if (isExpired(waiter.deadline)) waiter.reject(expiredError())', ''],
      ['if (isExpired(each.deadline)) {', 'if (false) {'],
    ],
  },
  {
    name: 'a reset of all keys leaves the leases',
    file: 'core/src/wrappers/leasing.ts',
    seed: 352,
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
    name: 'a reset of all keys leaves states in Redis',
    file: 'redis/src/scan.ts',
    seed: 11,
    property: 'resetsDeleteStates',
    replaced: [['deleted += await scanner.unlink(names)', 'deleted += names.length']],
  },
  {
    name: 'units of late answers of PostgreSQL are kept',
    file: 'postgres/src/clients.ts',
    seed: 2147483675,
    property: 'nothingIsLost',
    replaced: [['throw new TimeoutError(error.message, settled)', 'throw error']],
  },
  {
    name: 'a connection that does not answer is put back into the pool',
    file: 'postgres/src/clients.ts',
    seed: 2147483664,
    property: 'circuitsClose',
    replaced: [['release(isUsableAfter(failed))', 'release(true)']],
  },
  {
    name: 'a connection that arrives late is not put back into the pool',
    file: 'postgres/src/clients.ts',
    seed: 2147483652,
    property: 'circuitsClose',
    replaced: [['(late) => late.release()', '() => {}']],
  },
  {
    name: 'answers of a batch of PostgreSQL are given to the wrong callers',
    file: 'postgres/src/coalesce.ts',
    seed: 2147483674,
    property: 'denialsAreTrue',
    replaced: [['const answer = answers[i] as', 'const answer = answers[batch.length - 1 - i] as']],
  },
  {
    name: 'an expired call of PostgreSQL is sent',
    file: 'postgres/src/coalesce.ts',
    seed: 2147483672,
    property: 'expiredCallsAreNotSent',
    replaced: [['if (waiting.delete(each)) each.reject', 'if (each.stop === each.reject) each.reject']],
  },
  {
    name: 'a list of PostgreSQL shows the units of other keys',
    file: 'postgres/src/store.ts',
    seed: 2147483653,
    property: 'listsAreTrue',
    replaced: [['taken: taken[i]?.[0]', 'taken: taken[found.length - 1 - i]?.[0]']],
  },
  {
    name: 'a row of PostgreSQL expires before its units have refilled',
    file: 'core/src/kernels/kernel.ts',
    seed: 2147483670,
    property: 'sweepsRemoveNothing',
    replaced: [['fullBy(state) + (step.start?.keep ?? 0)', '0']],
  },
]

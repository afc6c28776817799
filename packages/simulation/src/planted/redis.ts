import type { Planted } from '../defect.ts'

/** Defects of the store of Redis. */
export const REDIS_DEFECTS: readonly Planted[] = [
  {
    name: 'stores of one client have deny caches of their own',
    file: 'redis/src/layers.ts',
    seed: 419,
    property: 'denialsAreTrue',
    replaced: [['scope: scopeOf(client, options) })', 'scope: {} })']],
  },
  {
    name: 'answers of a batch are given to the wrong callers',
    file: 'redis/src/coalesce.ts',
    seed: 56,
    property: 'listsAreTrue',
    replaced: [
      ['resolve(answers[i] as readonly Taken[])', 'resolve(answers[batch.length - 1 - i] as readonly Taken[])'],
    ],
  },
  {
    name: 'an expired call is sent again by its script',
    file: 'redis/src/clients.ts',
    seed: 10,
    property: 'expiredCallsAreNotSent',
    replaced: [['if (isExpired(deadline)) throw expiredError()', '']],
  },
  {
    name: 'a reset of all keys leaves states in Redis',
    file: 'redis/src/scan.ts',
    seed: 11,
    property: 'resetsDeleteStates',
    replaced: [['deleted += await scanner.unlink(names)', 'deleted += names.length']],
  },
  {
    name: 'a reset overtakes the calls of its tick',
    file: 'redis/src/base-store.ts',
    seed: 47,
    property: 'resetsDeleteStates',
    replaced: [['// Earlier checks must run before the deletion.\n      calls.flush()', '']],
  },
  {
    name: 'an answer that a hash slot moves opens the circuit',
    file: 'redis/src/failure.ts',
    seed: 17,
    property: 'errorsOpenNoCircuit',
    replaced: [['CrossSlot|TRYAGAIN|', 'CrossSlot|']],
  },
]

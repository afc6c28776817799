import type { Planted } from '../defect.ts'

/** Defects that only runs with PostgreSQL find. */
export const POSTGRES_DEFECTS: readonly Planted[] = [
  {
    name: 'units of late answers of PostgreSQL are kept',
    file: 'postgres/src/clients.ts',
    seed: 2147483916,
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
    file: 'stores/src/coalesce.ts',
    seed: 2147483674,
    property: 'denialsAreTrue',
    replaced: [
      [
        'i) => {\n        const answer = answers[i] as',
        'i) => {\n        const answer = answers[batch.length - 1 - i] as',
      ],
    ],
  },
  {
    name: 'an expired call of PostgreSQL is sent',
    file: 'stores/src/coalesce.ts',
    seed: 2147483672,
    property: 'expiredCallsAreNotSent',
    replaced: [
      ['if (waiting.delete(each)) each.reject', 'if (each.stop === each.reject) each.reject'],
      ['calls.filter(({ deadline }) => !isExpired(deadline))', 'calls', 'postgres/src/store.ts'],
    ],
  },
  {
    name: 'a list of PostgreSQL shows the units of other keys',
    file: 'postgres/src/store.ts',
    seed: 2147483653,
    property: 'listsAreTrue',
    replaced: [['taken: takenOf(taken, i)[0]', 'taken: takenOf(taken, found.length - 1 - i)[0]']],
  },
  {
    name: 'a row of PostgreSQL expires before its units have refilled',
    file: 'core/src/kernels/kernels.ts',
    seed: 2147483670,
    property: 'sweepsRemoveNothing',
    replaced: [['fullBy(state) + (start?.keep ?? 0)', '0']],
  },
]

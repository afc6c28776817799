const TIMES = Number(process.env['SPILLWAY_RUNS'] ?? 1)

/** How many random cases there are where so many are usual: `npm run test:long` has more, here and in the suites of stores. */
export const runsOf = (usual: number): number => Math.ceil(usual * TIMES)

declare const process: { readonly env: Readonly<Record<string, string | undefined>> }

/** How many times as many random cases as usual there are: `npm run test:long` sets it. */
function readTimes(): number {
  try {
    return Number(process.env['SPILLWAY_RUNS'] ?? 1)
  } catch {
    return 1 // a runtime that has no environment, or does not show it
  }
}

const times = /* @__PURE__ */ readTimes()

/** Whether there are more random cases than usual. */
export const isLong = (): boolean => times > 1

/** How many random cases there are where so many are usual. */
export const runsOf = (usual: number): number => Math.ceil(usual * times)

/** Something to be measured: does its work once for each key from `from` to `to`, in a loop of its own. */
export interface Candidate {
  readonly name: string
  // A loop that candidates shared would be compiled for all of them, and well for none.
  readonly run: (keys: readonly string[], from: number, to: number) => void | Promise<void>
}

/** What came of a candidate: times as long as the reference takes, and how far the middle half of pairs spread. */
export interface Result {
  readonly name: string
  readonly ratio: number
  readonly low: number
  readonly high: number
  readonly nanos: number
}

const CHUNK = 10_000

/**
 * Measures candidates against a reference in the same process, in turns of a chunk each, and takes medians of the ratios
 * of neighbours: whatever slows the machine for a while slows both. Absolute times are told for orientation only.
 */
export async function measure(
  reference: Candidate,
  candidates: readonly Candidate[],
  keys: readonly string[],
  { seconds, progress }: { readonly seconds: number; readonly progress: (share: number) => void },
): Promise<readonly Result[]> {
  const ratios = new Map(candidates.map((candidate) => [candidate, [] as number[]]))
  const nanos = new Map([reference, ...candidates].map((candidate) => [candidate, [] as number[]]))
  let from = 0
  const time = async (candidate: Candidate): Promise<number> => {
    const start = performance.now()
    const pending = candidate.run(keys, from, from + CHUNK)
    // Not awaited where there is nothing to wait for: a microtask is a cost that only promises have.
    if (pending instanceof Promise) await pending
    const each = ((performance.now() - start) * 1e6) / CHUNK
    nanos.get(candidate)?.push(each)
    return each
  }
  const round = async (backwards: boolean): Promise<void> => {
    for (const candidate of candidates) {
      const first = await time(backwards ? candidate : reference)
      const second = await time(backwards ? reference : candidate)
      ratios.get(candidate)?.push(backwards ? first / second : second / first)
      from = (from + CHUNK) % (keys.length - CHUNK + 1)
    }
  }
  const start = performance.now()
  const share = (): number => (performance.now() - start) / (seconds * 1000)
  let warm = false
  for (let i = 0; share() < 1; i++) {
    await round(i % 2 === 1)
    // The first fifth is for the compiler, and for filling what fills.
    if (!warm && share() > 0.2) {
      warm = true
      for (const samples of [...ratios.values(), ...nanos.values()]) samples.length = 0
    }
    progress(Math.min(share(), 1))
  }
  return [reference, ...candidates].map((candidate) => {
    const sorted = (ratios.get(candidate) ?? [1]).sort((a, b) => a - b)
    const times = (nanos.get(candidate) ?? []).sort((a, b) => a - b)
    return {
      name: candidate.name,
      ratio: quantile(sorted, 0.5),
      low: quantile(sorted, 0.25),
      high: quantile(sorted, 0.75),
      nanos: quantile(times, 0.5),
    }
  })
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN

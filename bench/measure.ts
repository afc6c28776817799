import { type Figure, figureOf } from './table.ts'

/** Something to be measured: does its work once for each key from `from` to `to`, in a loop of its own. */
export interface Candidate {
  readonly name: string
  // A loop that candidates shared would be compiled for all of them, and well for none.
  readonly run: (keys: readonly string[], from: number, to: number) => void | Promise<void>
}

/** However slow the machine: a median of fewer says nothing. */
const LEAST_ROUNDS = 6

/** What came of a candidate: how many times as long as the reference it takes, and nanoseconds for orientation. */
export interface Result {
  readonly name: string
  readonly ratio: Figure
  readonly nanos: Figure
}

export interface MeasureOptions {
  readonly seconds: number
  readonly progress: (share: number) => void
  /** How many keys a turn takes; 10,000 unless given. */
  readonly chunk?: number
}

/** Measures each candidate beside a reference of its own: the garbage of others would be collected at their cost. */
export async function measureInPairs(
  reference: () => Candidate,
  candidates: readonly (() => Candidate)[],
  keys: readonly string[],
  { progress, ...options }: MeasureOptions,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const [i, make] of candidates.entries()) {
    const told = (share: number): void => progress((i + share) / candidates.length)
    const pair = await measure(reference(), [make()], keys, { ...options, progress: told })
    results.push(...pair.slice(i === 0 ? 0 : 1))
  }
  return results
}

/**
 * Measures candidates against a reference in the same process, in turns of a chunk each, and takes medians of the ratios
 * of neighbours: whatever slows the machine for a while slows both. Each runs through all keys once before that, so
 * that what fills is full, and for a fifth of the time more, so that the compiler is done.
 */
export async function measure(
  reference: Candidate,
  candidates: readonly Candidate[],
  keys: readonly string[],
  { seconds, progress, chunk = 10_000 }: MeasureOptions,
): Promise<readonly Result[]> {
  const ratios = new Map<Candidate, number[]>()
  const nanos = new Map<Candidate, number[]>()
  const note = (into: Map<Candidate, number[]>, candidate: Candidate, sample: number): void => {
    const samples = into.get(candidate)
    if (samples) samples.push(sample)
    else into.set(candidate, [sample])
  }
  let from = 0
  const time = async (candidate: Candidate): Promise<number> => {
    const start = performance.now()
    const pending = candidate.run(keys, from, from + chunk)
    // Not awaited where there is nothing to wait for: a microtask is a cost that only promises have.
    if (pending instanceof Promise) await pending
    const each = ((performance.now() - start) * 1e6) / chunk
    note(nanos, candidate, each)
    return each
  }
  const round = async (backwards: boolean): Promise<void> => {
    for (const candidate of candidates) {
      const first = await time(backwards ? candidate : reference)
      const second = await time(backwards ? reference : candidate)
      note(ratios, candidate, backwards ? first / second : second / first)
      from = (from + chunk) % (keys.length - chunk + 1)
    }
  }
  for (const candidate of [reference, ...candidates]) await candidate.run(keys, 0, keys.length)
  const start = performance.now()
  const share = (): number => (performance.now() - start) / (seconds * 1000)
  let warm = false
  for (let i = 0, counted = 0; share() < 1 || counted < LEAST_ROUNDS; i++) {
    await round(i % 2 === 1)
    if (warm) counted++
    else if (share() > 0.2) {
      warm = true
      ratios.clear()
      nanos.clear()
    }
    progress(Math.min(share(), 1))
  }
  return [reference, ...candidates].map((candidate) => ({
    name: candidate.name,
    ratio: figureOf(ratios.get(candidate) ?? [1]),
    nanos: figureOf(nanos.get(candidate) ?? []),
  }))
}

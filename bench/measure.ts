import { type Figure, figureOf } from './table.ts'

/** A candidate: runs once for each key from `from` to `to`, in its own loop. */
export interface Candidate {
  readonly name: string
  // A shared loop would be compiled for all candidates, and would be slow for each.
  readonly run: (keys: readonly string[], from: number, to: number) => void | Promise<void>
}

/** Concurrent callers. Each sends its next call after a result. */
export const callers =
  (count: number, ask: (key: string) => Promise<unknown>): Candidate['run'] =>
  async (keys, from, to) => {
    let next = from
    const call = async (): Promise<void> => {
      while (next < to) await ask(keys[next++] as string)
    }
    await Promise.all(Array.from({ length: count }, call))
  }

/** The minimum number of turns, even on a slow machine: a median of fewer is not meaningful. */
const LEAST_ROUNDS = 6

/** The result of a candidate: its time as a multiple of the reference, and in nanoseconds for orientation. */
export interface Result {
  readonly name: string
  readonly ratio: Figure
  readonly nanos: Figure
}

export interface MeasureOptions {
  readonly seconds: number
  readonly progress: (share: number) => void
  /**
   * The number of keys per turn.
   * @default `10_000`
   */
  readonly chunk?: number
}

/** Measures each candidate with its own reference: otherwise it would also pay for the garbage of others. */
export async function measureInPairs(
  reference: () => Candidate,
  candidates: readonly (() => Candidate)[],
  keys: readonly string[],
  { progress, ...options }: MeasureOptions,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const [i, make] of candidates.entries()) {
    const reported = (share: number): void => progress((i + share) / candidates.length)
    const pair = await measure(reference(), [make()], keys, { ...options, progress: reported })
    results.push(...pair.slice(i === 0 ? 0 : 1))
  }
  return results
}

/**
 * Measures candidates and a reference in one process, in alternating turns of one chunk, and returns medians of the ratios
 * of adjacent turns: a temporary slowdown of the machine affects both. Before that, each runs through all keys once to
 * fill its store, and for a fifth of the time more to finish compilation.
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
    // Awaits only promises: a microtask would add a cost to synchronous candidates.
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

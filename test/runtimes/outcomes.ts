/** What came of a suite. */
export interface Outcome {
  readonly suite: string
  readonly passed: number
  readonly failed: readonly string[]
}

/** The last line of a run, with the number of suites before it: runtimes end with 0 when they have nothing to wait for. */
export const endOf = (suites: number): string => JSON.stringify({ suites })

/** The outcomes that a run has printed; if it ended before its last line, that counts as a failure. */
export function outcomesOf(printed: string): readonly Outcome[] {
  const lines = printed.split('\n').filter((line) => line.startsWith('{'))
  const outcomes = lines.filter((line) => line.includes('"passed"')).map((line) => JSON.parse(line) as Outcome)
  if (lines.at(-1) === endOf(outcomes.length)) return outcomes
  const suite = `after ${outcomes.at(-1)?.suite ?? 'nothing'}`
  return [...outcomes, { suite, passed: 0, failed: ['it ended before its last suite did'] }]
}

import type { Micros } from '@spillway/core'
import type { Answer, Line, Run } from './app.ts'
import type { Client } from './traffic.ts'

/** The result of a run in numbers. */
export interface Summary {
  readonly admitted: number
  readonly denied: number
  /** The most units that one client was allowed in any span as long as the window. */
  readonly most: number
  /** The longest delay of an allowed request. */
  readonly longestDelayMs: number
}

export function summaryOf({ answers }: Run, window: Micros): Summary {
  const admitted = answers.filter(({ decision }) => decision.allowed)
  const clients: readonly Client[] = ['you', 'flood']
  return {
    admitted: admitted.length,
    denied: answers.length - admitted.length,
    most: Math.max(
      ...clients.map((client) =>
        mostWithin(
          admitted.filter(({ arrival }) => arrival.client === client),
          window,
        ),
      ),
    ),
    longestDelayMs: Math.max(0, ...admitted.map(({ decision }) => decision.delayMs)),
  }
}

/** The most units that were allowed in any span as long as the window, including its start but not its end. */
function mostWithin(admitted: readonly Answer[], window: Micros): number {
  const gone = admitted
    .map(({ arrival, decision }) => ({ at: arrival.at + decision.delayMs * 1000, cost: arrival.cost }))
    .sort((a, b) => a.at - b.at)
  let [most, within, first] = [0, 0, 0]
  for (const { at, cost } of gone) {
    within += cost
    for (; (gone[first]?.at ?? at) <= at - window; first++) within -= gone[first]?.cost ?? 0
    most = Math.max(most, within)
  }
  return most
}

/** The index of the last answer at or before a time, or -1. Answers are ordered by time. */
export function lastBefore(answers: readonly Answer[], at: Micros): number {
  let [low, high] = [0, answers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((answers[middle] as Answer).arrival.at <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The number of a line at a time: the last reading before it. */
export function levelAt({ points }: Pick<Line, 'points'>, at: Micros): number {
  let [low, high] = [0, points.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle]?.at ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return points[low - 1]?.units ?? 0
}

/** A duration as readable text. */
export function spanText(millis: number): string {
  if (millis === Infinity) return 'never'
  const [size, unit] = (
    [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1_000, 's'],
    ] as const
  ).find(([size]) => millis >= size) ?? [1, 'ms']
  const amount = millis / size
  return `${amount >= 100 || Number.isInteger(amount) ? Math.round(amount) : Number(amount.toPrecision(3))} ${unit}`
}

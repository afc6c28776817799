// The targets: how many are met, which are missed, and why.

import { missed, missedByHand, reasonFor } from './reasons.ts'
import type { Results } from './results.ts'
import { fold, markdownTable, reach, reachOfBaseline, reported, type Table, type Target } from './table.ts'

/** A target, its table, and the heading of the part. */
interface Aim {
  readonly part: string
  readonly table: Table
  readonly target: Target
}

const HEAD = ['', 'of', 'result', 'target', 'hand-written']

function rowOf({ table, target }: Aim): readonly string[] {
  const baseline = reachOfBaseline(table, target)
  return [
    `${table.title}: ${target.ours}`,
    target.theirs ?? target.column,
    reported(reach(table, target)),
    reported(target.atMost),
    baseline === undefined ? '–' : reported(baseline),
  ]
}

/** How often a result exceeds its target. */
const excess = ({ table, target }: Aim): number => reach(table, target) / target.atMost

/** How many targets of each part are met; those that are missed, behind a fold. `headings` are the parts in order. */
export function targetsText(results: Results, headings: Readonly<Record<string, string>>): readonly string[] {
  const aims = Object.entries(headings).flatMap(([part, heading]) =>
    (results[part]?.tables ?? []).flatMap((table) =>
      table.targets.map((target): Aim => ({ part: heading, table, target })),
    ),
  )
  if (aims.length === 0) return []
  const isMissed = ({ table, target }: Aim): boolean => missed(table, target)
  const isMissedByHand = ({ table, target }: Aim): boolean => missedByHand(table, target)
  const reached = aims.filter((aim) => !isMissed(aim))
  const failed = aims.filter(isMissed).toSorted((a, b) => excess(b) - excess(a))
  const counts = [...new Set(aims.map(({ part }) => part))].map((heading) => {
    const own = aims.filter(({ part }) => part === heading)
    const over = own.filter(isMissed)
    return [heading, own.length - over.length, over.length, over.filter(isMissedByHand).length].map(String)
  })
  const shown = (list: readonly Aim[], summary: string): readonly string[] =>
    list.length === 0 ? [] : ['', ...fold(summary, markdownTable(HEAD, list.map(rowOf), 2))]
  return [
    '',
    `Of ${aims.length} targets, ${reached.length} are met. A hand-written limiter misses some of the others, too.`,
    '',
    markdownTable(['', 'met', 'missed', 'of these, also hand-written'], counts),
    ...shown(reached, `${reached.length} targets that are met`),
    ...shown(failed, `${failed.length} targets that are missed, the furthest first`),
    ...(failed.length === 0
      ? []
      : ['', 'The reasons for missed targets are below their tables in [the results](RESULTS.md).']),
  ]
}

/** Why targets of a table are missed: each reason once, with the rows that it applies to. */
export function reasonsOf(table: Table): readonly string[] {
  const rows = new Map<string, Set<string>>()
  for (const target of table.targets) {
    const why = missed(table, target) ? reasonFor(table, target) : undefined
    if (why !== undefined) rows.set(why, (rows.get(why) ?? new Set()).add(target.ours))
  }
  return [...rows].flatMap(([why, names]) => [
    '',
    `Missed by ${[...names].map((name) => `“${name}”`).join(', ')}: ${why}`,
  ])
}

import type { KeyList, ListedKey } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { columns, count, percent, plain, span, whenText } from '../format.ts'
import type { Colour } from '../io.ts'
import { keyText } from '../replay/key-text.ts'

/** How keys are sorted: by the units used, or by the wait. */
export type Order = 'use' | 'wait'

/** What the screen shows, and what the keyboard has changed. */
export interface View {
  /** The index of the policy that is shown. */
  readonly policy: number
  readonly order: Order
  /** Which keys are shown. */
  readonly only: 'used' | 'limited' | 'blocked'
  /** Only keys with this text are shown. */
  readonly filter: string
  /** The index of the selected row. */
  readonly selected: number
  /** What typed characters do: commands, a filter, or the answer to a question. */
  readonly mode: 'commands' | 'filter' | Question
  /** The answer typed so far: how long a key is blocked. */
  readonly answer: string
  readonly message: string
}

/** What is asked before a key is changed. */
export type Question = 'reset' | 'block' | 'unblock'

export const START: View = {
  policy: 0,
  order: 'use',
  only: 'used',
  filter: '',
  selected: 0,
  mode: 'commands',
  answer: '',
  message: '',
}

/** A row: a listed key, and its text without control characters. */
export interface Row {
  readonly listed: ListedKey
  readonly text: string
}

/** The rows that a view shows, in order. */
export function rowsOf({ keys }: Pick<KeyList, 'keys'>, selectors: RulePolicy['key'], view: View): readonly Row[] {
  const textOf = ({ key, isDigest }: ListedKey): string =>
    plain(isDigest ? `digest ${key}` : keyText(selectors, key), 200)
  const rows = keys.map((listed): Row => ({ listed, text: textOf(listed) }))
  const shown = rows.filter(({ text }) => text.toLowerCase().includes(view.filter.toLowerCase()))
  return view.order === 'use'
    ? shown
    : shown.toSorted((a, b) => b.listed.decision.retryAfterMs - a.listed.decision.retryAfterMs)
}

/** The table of some rows; the one at `selected` is marked. */
export function tableOf(
  rows: readonly Row[],
  selected: number | undefined,
  width: number,
  paint: (colour: Colour, text: string) => string,
): string {
  const cells = rows.map(({ listed, text }, i) => {
    const { allowed, limit, remaining, retryAfterMs, resetAfterMs } = listed.decision
    const nextMs = Math.max(retryAfterMs, listed.blockedMs ?? 0)
    return [
      `${selected === undefined ? '' : i === selected ? '> ' : '  '}${text}`,
      count(limit - remaining),
      count(limit),
      percent(limit - remaining, limit),
      whenText(nextMs, allowed),
      whenText(resetAfterMs, remaining >= limit),
      blockedText(listed.blockedMs),
    ]
  })
  return columns(
    ['key', 'used', 'of', 'share', 'next request', 'full', 'blocked'],
    cells,
    (text) => paint('dim', text),
    width,
  )
}

/** How long a key is blocked: not at all, or not known. */
export const blockedText = (blockedMs: number | undefined): string =>
  blockedMs === undefined ? '?' : blockedMs === 0 ? '' : span(blockedMs)

/** What has been examined, as a sentence. */
export const scannedText = ({ scanned, isComplete }: KeyList): string =>
  `${count(scanned)} ${scanned === 1 ? 'state' : 'states'} examined${isComplete ? '' : ', not all'}`

const HELP = [
  'q quit  tab policy  s sort  l used, limited, blocked  / filter',
  '↑↓ select  r reset  b block  u unblock',
]

const nothingOf = ({ only }: View): string => (only === 'used' ? 'no key has used anything' : `no key is ${only}`)

function footerOf({ mode, filter, message, answer }: View): string {
  if (mode === 'filter') return `/${plain(filter, 60)}  (Enter to keep, Escape to clear)`
  return mode === 'block' ? `${message} ${plain(answer, 20)}` : message
}

/** The whole screen, in lines that each clear what was there before. */
export function screenOf(
  name: string,
  list: KeyList,
  rows: readonly Row[],
  view: View,
  { width, height, paint }: { width: number; height: number; paint: (colour: Colour, text: string) => string },
): string {
  const room = Math.max(height - 6, 1)
  const first = Math.max(Math.min(view.selected - room + 1, rows.length - room), 0)
  const filters = [
    `sorted by ${view.order}`,
    ...(view.only === 'used' ? [] : [`${view.only} only`]),
    ...(view.filter === '' && view.mode !== 'filter' ? [] : [`filter: ${plain(view.filter, 30)}`]),
  ]
  const footer = footerOf(view)
  const lines = [
    `${paint('bold', name)}  ${scannedText(list)}; ${filters.join(', ')}`,
    '',
    ...tableOf(rows.slice(first, first + room), view.selected - first, width, paint).split('\n'),
    ...(rows.length === 0 ? [nothingOf(view)] : []),
    '',
    ...(footer === '' ? HELP.map((line) => paint('dim', line)) : [footer]),
  ]
  return `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`
}

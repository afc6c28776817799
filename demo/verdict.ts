import { PROMISED } from './clients.ts'
import type { Line } from './draw.ts'
import type { Answer } from './http.ts'
import { BURST, RATE } from './limits.ts'

/** One check, and the clients that failed it. */
export interface Check {
  readonly promise: string
  readonly broken: readonly string[]
}

/** Server and client read different clocks, one of them in whole milliseconds: the difference in units that is ignored. */
const ROUNDING = 0.02 * RATE

/** Checks all answers against what Spillway guarantees. */
export function judge(lines: readonly Line[]): readonly Check[] {
  const waits = lines.flatMap(({ answers }) => answers.filter(({ kept }) => kept !== undefined))
  const check = (promise: string, breaks: (line: Line) => string | undefined): Check => ({
    promise,
    broken: lines.flatMap((line) => {
      const why = breaks(line)
      return why === undefined ? [] : [`${line.framework}, ${line.client}: ${why}`]
    }),
  })
  return [
    check(`No client got more than ${BURST} units, and ${RATE} a second, in any span of time.`, tooMuch),
    check('No client was denied while it had enough units.', tooLittle),
    check(
      `After the wait that the headers ask for, a request is allowed: ${waits.filter(({ allowed }) => allowed).length} of ${waits.length}.`,
      deniedAfterWait,
    ),
    check(`A cost of ${BURST + 2} units never fits: no Retry-After, and the body says why.`, notNever),
    check(`All frameworks answered alike; each allowed ${listed(PROMISED)}.`, (line) => unlike(line, lines)),
  ]
}

/** The time between sending the first and receiving the last of some allowed requests bounds what can have refilled. */
function tooMuch({ answers }: Line): string | undefined {
  const taken = answers.filter(({ allowed }) => allowed).sort((a, b) => a.sent - b.sent)
  for (const [i, first] of taken.entries()) {
    let units = 0
    let last = 0
    for (const { cost, received } of taken.slice(i)) {
      units += cost
      last = Math.max(last, received)
      const most = BURST + (RATE * (last - first.sent)) / 1000
      if (units > most + ROUNDING) return `${units} units in ${Math.round(last - first.sent)} ms`
    }
  }
  return undefined
}

/** A denial is right if, counted from some allowed request on, the refilled less the consumed units were too few. */
function tooLittle({ answers }: Line): string | undefined {
  const taken = answers.filter(({ allowed }) => allowed)
  const spent = (from: number, to: number): number =>
    taken.reduce((sum, { sent, received, cost }) => (received >= from && sent <= to ? sum + cost : sum), 0)
  const right = (denied: Answer): boolean =>
    denied.cost > BURST ||
    taken.some(({ sent, received }) => {
      const back = (RATE * (denied.sent - received)) / 1000
      return BURST + back - spent(sent, denied.received) < denied.cost + ROUNDING
    })
  const wrong = answers.filter((each) => !each.allowed && !right(each)).length
  return wrong > 0 ? `${wrong} of its requests` : undefined
}

function deniedAfterWait({ answers }: Line): string | undefined {
  const early = answers.filter(({ kept, allowed }) => kept !== undefined && !allowed)
  return early.length > 0 ? `${early.length} of its requests were denied after the wait` : undefined
}

/** The answer to the request that costs more than a full bucket. */
const neverOf = ({ answers }: Line): Answer | undefined => answers.find(({ cost }) => cost > BURST)

function notNever(line: Line): string | undefined {
  if (line.client !== 'weighted') return undefined
  const never = neverOf(line)
  if (never?.allowed !== false) return 'it was not denied'
  if (never.headers.has('Retry-After')) return `it got a Retry-After of ${never.wait} s`
  const { detail, 'retry-after-ms': wait } = JSON.parse(never.body) as { detail?: string; 'retry-after-ms'?: unknown }
  const says = wait === null && detail?.startsWith(`This request costs ${never.cost} units, more than`)
  return says ? undefined : `its body is: ${never.body}`
}

function unlike({ client, answers }: Line, lines: readonly Line[]): string | undefined {
  const allowed = answers.filter((each) => each.allowed).length
  const promised = PROMISED[client]
  if (promised !== undefined && allowed !== promised) return `${allowed} requests allowed instead of ${promised}`
  const first = lines.find((line) => line.client === client)
  return first && said(first) !== said({ answers })
    ? `its headers or problem document are not those of ${first.framework}`
    : undefined
}

/** The parts of the answers that do not depend on time. */
function said({ answers }: Pick<Line, 'answers'>): string {
  const never = answers.find(({ cost }) => cost > BURST)
  const policies = new Set(answers.map(({ headers }) => headers.get('RateLimit-Policy')))
  // Frameworks differ in whether they add a charset, and a reason to the code of the status.
  const type = never?.headers.get('Content-Type')?.split(';', 1)
  return JSON.stringify([[...policies], type, never?.status.slice(0, 3), never?.body])
}

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([client, count]) => `${client} ${count}`)
    .join(', ')

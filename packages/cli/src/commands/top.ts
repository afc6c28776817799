import type { KeyList } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { plain } from '../format.ts'
import { type Io, painter, UserError, widthOf } from '../io.ts'
import { checkStore, connect, type LiveOptions, unreachable, urlOf } from '../live/connect.ts'
import { limiterOf } from '../live/limiter.ts'
import { livePolicies } from '../live/policies.ts'
import { eventsOf } from '../top/events.ts'
import { Screen, type Shown } from '../top/screen.ts'
import { rowsOf, START, scannedText, tableOf } from '../top/view.ts'

/** The options of `top`. */
export interface TopOptions extends LiveOptions {
  readonly redis?: string
  readonly postgres?: string
  readonly policy: readonly string[]
  readonly name?: string
  readonly limit: number
  readonly limited?: boolean
  readonly blocked?: boolean
  readonly json?: boolean
}

/**
 * Lists the keys that have used the most. On a terminal it redraws every second, until `q`; else it prints them once.
 * `events` are keys of the keyboard, and an empty text each second.
 */
export async function top(options: TopOptions, io: Io, events?: AsyncIterable<string>): Promise<number> {
  const url = options.redis ?? options.postgres
  if (url === undefined || (options.redis !== undefined && options.postgres !== undefined)) {
    throw new UserError('top needs one store: --redis redis://localhost, or --postgres postgres://localhost/app.')
  }
  checkStore(url, options, [options.redis === undefined ? 'postgres' : 'redis'])
  const policies = await policiesOf(options)
  const { store, close } = await connect(url, options, io.env)
  try {
    const shown = policies.map((policy): Shown => ({ policy, limiter: limiterOf(policy, store) }))
    if (io.stdout.isTTY === true && options.json !== true)
      await redraw(shown, options, io, events ?? eventsOf(io.stdin))
    else await printOnce(shown, options, io)
    return 0
  } catch (error) {
    throw unreachable(urlOf(url), (error as Error).cause ?? error)
  } finally {
    await close()
  }
}

async function policiesOf({ policy, name }: TopOptions): Promise<readonly RulePolicy[]> {
  const policies = await livePolicies(policy)
  const wanted = name === undefined ? policies : policies.filter((each) => each.name === name)
  if (wanted.length > 0) return wanted
  const names = policies.map((each) => JSON.stringify(each.name)).join(', ')
  throw new UserError(`no policy is named ${JSON.stringify(name)}: there are ${names}.`)
}

async function printOnce(
  shown: readonly Shown[],
  { limit, limited = false, blocked = false, json }: TopOptions,
  io: Io,
): Promise<void> {
  const lists: KeyList[] = []
  for (const { limiter } of shown) lists.push(await limiter.list({ limit, limited, blocked }))
  if (json === true) {
    io.stdout.write(`${JSON.stringify(lists, null, 2)}\n`)
    return
  }
  const paint = painter(io.stdout, io.env)
  const nothing = blocked ? 'no key is blocked' : 'no key has used anything'
  for (const [i, list] of lists.entries()) {
    const rows = rowsOf(list, (shown[i] as Shown).policy.key, START)
    const table = rows.length === 0 ? nothing : tableOf(rows, undefined, widthOf(io.stdout), paint)
    io.stdout.write(`${plain(list.policy)}  ${scannedText(list)}\n\n${table}\n\n`)
  }
}

async function redraw(
  shown: readonly Shown[],
  options: TopOptions,
  io: Io,
  events: AsyncIterable<string>,
): Promise<void> {
  const { limit, limited, blocked } = options
  const screen = new Screen(shown, { limit, only: blocked ? 'blocked' : limited ? 'limited' : 'used' }, io)
  // The alternate screen, without a cursor: the terminal is as before when the program ends.
  io.stdout.write('\u001b[?1049h\u001b[?25l')
  try {
    await screen.draw()
    for await (const key of events) {
      if (!(await screen.press(key))) break
    }
  } finally {
    io.stdout.write('\u001b[?25h\u001b[?1049l')
  }
}

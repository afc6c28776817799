import type { Decision } from '@spillway/core'
import type { Context } from './context.ts'
import { HTTP } from './http-limit.ts'
import { Departure } from './runtime/departure.ts'

/** A request through the middleware: its handler takes a while and may fail, and its client may leave before the verdict. */
export async function request({ handle, act, key, enter, simulation, process }: Context): Promise<void> {
  const { world, ledger } = simulation
  const leaves = new Departure()
  const later = (run: () => void): void => world.after(act.laterMicros, () => process.host.receive(run))
  const headers = new Headers({ 'x-key': key, 'x-cost': `${act.cost}` })
  // A real request copies its signal, which costs more than all else of the call.
  const sent = { method: 'GET', url: 'http://localhost/', headers, signal: leaves } as unknown as Request
  if (act.maxWaitMs === 0) later(() => leaves.abort())
  let handled: () => void = () => {}
  const status = act.actual === 0 ? 503 : 200
  const call = (): Promise<Decision | undefined> =>
    new Promise((resolve, reject) => {
      const respond = handle.http()(() => {
        resolve(handle.http().decisionOf(sent))
        return new Promise<Response>((answer) => {
          handled = () => answer(new Response(null, { status }))
        })
      })
      respond(sent).then(
        (response) =>
          response.status === 499 ? reject(new Error('The caller left.')) : resolve(handle.http().decisionOf(sent)),
        reject,
      )
    })
  const { holding, entry } = await ledger.holdings.acquire(process.host, false, () => enter(act.cost, 0, call, HTTP))
  if (entry.kept === 0) return
  if (leaves.aborted) holding.releasedAt = world.now
  leaves.addEventListener('abort', () => {
    holding.releasedAt ??= world.now
  })
  later(() => {
    holding.releasedAt ??= world.now
    // A client that leaves before the response is not refunded, whatever the handler does.
    if (status >= 500 && !leaves.aborted) Object.assign(entry, { kept: 0, refundedAt: world.now })
    handled()
  })
}

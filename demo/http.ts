import { setTimeout as sleep } from 'node:timers/promises'

/** What a client sent, what came back and when. Moments are in milliseconds on the process's stopwatch. */
export interface Answer {
  readonly sent: number
  readonly received: number
  readonly cost: number
  readonly allowed: boolean
  /** Units left, as the `RateLimit` header says. */
  readonly left: number
  /** Seconds to wait before there is more: `Retry-After` when refused, `t` of `RateLimit` otherwise. */
  readonly wait: number | undefined
  /** Seconds the client had waited just before, as told; undefined if it had not. */
  readonly kept: number | undefined
  readonly status: string
  readonly headers: Headers
  readonly body: string
}

/** Sends a request of some cost, after a wait of `kept` seconds if the client was told to. */
export type Send = (cost?: number, kept?: number) => Promise<Answer>

// A server that hangs must not hang the demo.
const deadline = AbortSignal.timeout(30_000)

/** Makes a client: requests to `url` in its name, each answer added to its log. */
export function clientOf(url: string, name: string, log: Answer[]): Send {
  return async (cost = 1, kept) => {
    const sent = performance.now()
    const request = { 'x-client': name, 'x-request-weight': String(cost) }
    const response = await fetch(url, { headers: request, signal: deadline })
    const body = await response.text()
    const answer = { sent, received: performance.now(), cost, kept, body, ...told(response) }
    log.push(answer)
    return answer
  }
}

function told({
  ok,
  status,
  statusText,
  headers,
}: Response): Pick<Answer, 'allowed' | 'left' | 'wait' | 'status' | 'headers'> {
  const [, left, soon] = /;r=(\d+)(?:;t=(\d+))?$/.exec(headers.get('RateLimit') ?? '') ?? []
  const wait = ok ? soon : headers.get('Retry-After')
  return {
    allowed: ok,
    left: Number(left),
    wait: wait == null ? undefined : Number(wait),
    status: `${status} ${statusText}`,
    headers,
  }
}

/** Waits for a moment. Timers may fire a little early, hence the loop. */
export async function until(moment: number): Promise<void> {
  for (let ahead = moment - performance.now(); ahead > 0; ahead = moment - performance.now()) await sleep(ahead)
}

/** Waits as long as an answer says, to the millisecond, and asks again. */
export async function sendWhenTold(send: Send, { received, wait }: Answer, cost = 1): Promise<Answer> {
  if (wait === undefined) throw new Error('A client was refused, or left with nothing, and not told how long to wait.')
  await until(received + wait * 1000)
  return send(cost, wait)
}

/** A request and its response. Times are in milliseconds of `performance.now()`. */
export interface Answer {
  readonly sent: number
  readonly received: number
  readonly cost: number
  readonly allowed: boolean
  /** The remaining units, from the `RateLimit` header. */
  readonly left: number
  /** Seconds until units refill: `Retry-After` of a denial, `t` of `RateLimit` otherwise. */
  readonly wait: number | undefined
  /** Seconds that the client waited before this request because the server asked it to; undefined if it did not. */
  readonly kept: number | undefined
  readonly status: string
  readonly headers: Headers
  readonly body: string
}

/** Sends a request with a cost. `kept` is the wait in seconds before it, if the server asked for one. */
export type Send = (cost?: number, kept?: number) => Promise<Answer>

/** Builds a client: sends requests to `url` under its name, and appends each answer to `log`. */
export function clientOf(url: string, name: string, log: Answer[]): Send {
  return async (cost = 1, kept) => {
    const sent = performance.now()
    const request = { 'x-client': name, 'x-request-weight': String(cost) }
    // A server that hangs must not hang the demo.
    const response = await fetch(url, { headers: request, signal: AbortSignal.timeout(30_000) })
    const body = await response.text()
    const answer = { sent, received: performance.now(), cost, kept, body, ...reported(response) }
    log.push(answer)
    return answer
  }
}

function reported({
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

/** Waits until `moment`. Timers may fire early, so it checks in a loop. */
export async function until(moment: number): Promise<void> {
  for (let ahead = moment - performance.now(); ahead > 0; ahead = moment - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, ahead))
  }
}

/** Waits exactly as long as an answer asks, then sends again. */
export async function sendWhenTold(send: Send, { received, wait }: Answer, cost = 1): Promise<Answer> {
  if (wait === undefined) throw new Error('A response has no remaining units and no time to wait.')
  await until(received + wait * 1000)
  return send(cost, wait)
}

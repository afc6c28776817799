import type { Signal } from '@spillway/core'
import { checkSignal, monotonicMs, setLongTimeout, whenAborted } from '@spillway/core/internal'
import { fetchConfigOf, type LimitedFetchOptions } from './options.ts'
import { type CallDescription, type OutgoingRequest, outgoing, type RequestHeaders } from './outgoing.ts'
import { DOWN, Engine } from './pacer.ts'
import { canRepeat, type FetchCall, isRequest } from './repeat.ts'

/**
 * Returns a `fetch` that is not denied: calls of a key are sent one after the other at the rate of its quota, in all processes that
 * share the store. It learns from answers: a lower limit, a pause. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * const fetch = limitedFetch({ quota: perSecond(5, { burst: 1 }), store: memoryStore() })
 * const orders = () => fetch('https://api.example.com/orders')
 */
export function limitedFetch(options: LimitedFetchOptions): typeof fetch {
  const config = fetchConfigOf(options)
  const { retries, maxWaitMs, fetch: given } = config
  const engine = new Engine(config)
  const send = given ?? ((...call: Parameters<typeof fetch>) => fetch(...call))

  return async (input, init) => {
    const call: FetchCall = { input, init }
    const request = outgoing(describe(call))
    const key = await engine.keyOf(request)
    const signal = checkSignal(init?.signal ?? (isRequest(input) ? input.signal : undefined) ?? undefined)
    const endMs = monotonicMs() + maxWaitMs
    await engine.pace(key, signal)
    for (let attempt = 0; ; attempt++) {
      const result = await sent(engine, () => send(input, init), request, key, signal)
      const isLast = attempt >= retries || !result.mayRepeat || !canRepeat(call, request.method, () => request.headers)
      if (isLast || !engine.partners.of(key).mayRetry()) return returned(result)
      if (!(await waited(engine, key, signal, attempt, result, endMs))) return returned(result)
      void result.response?.body?.cancel().catch(() => {})
    }
  }
}

interface Sent {
  readonly response?: Response
  readonly thrown?: unknown
  readonly isDenied: boolean
  /** Whether it may be sent again, if it can be repeated. */
  readonly mayRepeat: boolean
}

function describe({ input, init }: FetchCall): CallDescription {
  const request = isRequest(input) ? input : undefined
  return {
    url: request?.url ?? String(input),
    method: init?.method ?? request?.method,
    headers: (init?.headers ?? request?.headers) as RequestHeaders | undefined,
  }
}

/** Sends a call, and learns from the answer. */
async function sent(
  engine: Engine,
  send: () => Promise<Response>,
  request: OutgoingRequest,
  key: string,
  signal: Signal | undefined,
): Promise<Sent> {
  let response: Response
  try {
    response = await send()
  } catch (thrown) {
    // A caller that leaves says nothing about the service.
    if (!signal?.aborted) engine.fail(key)
    return { thrown, isDenied: false, mayRepeat: !signal?.aborted }
  }
  const answeredBy = response.redirected ? await redirected(engine, request, response, key) : key
  const isDenied = await engine.learn(answeredBy, response)
  const isRepeated = (isDenied || DOWN.includes(response.status)) && !forbidsRetry(response)
  return { response, isDenied, mayRepeat: isRepeated && answeredBy === key }
}

/** Stripe and OpenAI say whether to send a call again. */
const forbidsRetry = ({ headers }: Response): boolean =>
  ['stripe-should-retry', 'x-should-retry'].some((name) => headers.get(name) === 'false')

/** The key of the last call that redirects have made, which is counted. */
async function redirected(engine: Engine, request: OutgoingRequest, { url }: Response, key: string): Promise<string> {
  const last = await engine.keyOf(outgoing({ url, headers: request.headers })).catch(() => key)
  await engine.charge(last)
  return last
}

function returned({ response, thrown }: Sent): Response {
  if (response) return response
  throw thrown
}

/** How long the first retry waits whose key is not paused, and the longest. */
const [FIRST_MS, LONGEST_MS] = [500, 8_000]

/** Waits for the turn of a retry. Resolves with false if there is none within `maxWait`; rejects if the caller leaves. */
async function waited(
  engine: Engine,
  key: string,
  signal: Signal | undefined,
  attempt: number,
  { isDenied, response }: Sent,
  endMs: number,
): Promise<boolean> {
  try {
    const backoffMs = Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS) * (1 + Math.random())
    if (!isDenied && backoffMs >= endMs - monotonicMs()) return false
    if (!isDenied) await sleep(backoffMs, signal)
    await engine.pace(key, signal, endMs - monotonicMs())
    return true
  } catch (thrown) {
    if (!signal?.aborted) return false
    void response?.body?.cancel().catch(() => {})
    throw thrown
  }
}

const sleep = (ms: number, signal: Signal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = setLongTimeout(ms, () => {
      unregister()
      resolve()
    })
    const unregister = signal
      ? whenAborted(signal, () => {
          stop()
          reject(signal.reason)
        })
      : () => {}
  })

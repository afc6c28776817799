import { type LimitedFetchOptions, limitedFetch } from '@spillway/client'
import { modelStore } from '@spillway/conformance'
import { perSecond } from '@spillway/core'
import { afterEach, beforeEach, expect, vi } from 'vitest'

const START = Date.UTC(2026, 0, 1)

/** A store by the fake time. */
export const fakeStore = () => modelStore(() => Date.now() * 1_000)

/** Fakes timers and chance for each test of a file: no timer may be left. */
export function useFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: START })
    vi.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })
}

/** A call that a partner got. */
export interface Got {
  readonly atMs: number
  readonly url: string
  readonly method: string
  readonly body: unknown
}

type Reply = (got: Got, index: number) => Response | Promise<Response>

/** A partner, by the fake time: what it got, and a `fetch` of one process that calls it. */
export function partner(reply: Reply = () => new Response('ok')) {
  const got: Got[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    init?.signal?.throwIfAborted()
    const request = input instanceof Request ? input : undefined
    const each = {
      atMs: Date.now() - START,
      url: request?.url ?? String(input),
      method: init?.method ?? request?.method ?? 'GET',
      body: init?.body,
    }
    got.push(each)
    return reply(each, got.length - 1)
  }
  const store = fakeStore()
  const client = (options: Partial<LimitedFetchOptions> = {}) =>
    limitedFetch({ quota: perSecond(10, { burst: 1 }), store, fetch, ...options })
  return { got, client, store, times: () => got.map(({ atMs }) => atMs) }
}

/** Runs all timers, and resolves with what a promise settled with. */
export async function settled<T>(...promises: readonly Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
  const all = Promise.allSettled(promises)
  await vi.runAllTimersAsync()
  return all
}

/** An answer that denies a call. */
export const denial = (headers: Record<string, string> = {}, status = 429) => new Response('no', { status, headers })

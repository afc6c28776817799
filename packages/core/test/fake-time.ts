import { modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, expect, vi } from 'vitest'

const START = Date.UTC(2026, 0, 1)

/** The fake time, in microseconds since 1970. */
const fakeMicros = (): number => (START + Date.now()) * 1_000

/** The reference store, by the fake time. */
export const fakeTimeStore = () => modelStore(fakeMicros)

/** Fakes timers for each test of a file, of which none may be left. */
export function useFakeTime(): void {
  beforeEach(() => vi.useFakeTimers({ now: 0 }))
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })
}

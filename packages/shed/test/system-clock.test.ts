import { expect, test, vi } from 'vitest'

test('the system clock has a time where performance has no origin, and never steps back', async () => {
  vi.resetModules()
  vi.stubGlobal('performance', { now: () => 5 })
  try {
    const { systemClock } = await import('../src/system-clock.ts')
    const now = systemClock.now()
    expect(Math.abs(now - Date.now())).toBeLessThan(60_000)
    expect(systemClock.now()).toBe(now)
  } finally {
    vi.unstubAllGlobals()
  }
})

test('where there is no setImmediate, a timer ends the turn', async () => {
  vi.stubGlobal('setImmediate', undefined)
  try {
    const { systemClock } = await import('../src/system-clock.ts')
    await new Promise<void>((resolve) => void systemClock.after(0, resolve))
    const cancelled = vi.fn()
    systemClock.after(0, cancelled)()
    await new Promise<void>((resolve) => void systemClock.after(1, resolve))
    expect(cancelled).not.toHaveBeenCalled()
  } finally {
    vi.unstubAllGlobals()
  }
})

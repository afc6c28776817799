import { describe, expect, test, vi } from 'vitest'
import { type HeaderForm, headerWriter } from '../src/features/header-forms/forms.ts'
import { partitionReader } from '../src/features/partitions/partition.ts'
import { headerItem } from '../src/http/headers/header-item.ts'
import { leakyBucket, perMinute, slidingWindow, tokenBucket } from '../src/index.ts'
import { decisionOf } from './decisions.ts'
import { item, nowMs } from './header-forms.ts'

describe('one policy', () => {
  const write = (form: HeaderForm, parts: Parameters<typeof decisionOf>[0], reported = item, pk = '') =>
    headerWriter([form])([{ item: reported, pk, decision: decisionOf(parts) }], nowMs).map(([, value]) => value)

  test('reports when more units refill, or, if denied, when the request fits', () => {
    const waits = { remaining: 2, retryAfterMs: 7_001, replenishAfterMs: 601 }
    expect(write('draft-11', waits)[1]).toBe('"per minute";r=2;t=1')
    expect(write('draft-11', { ...waits, allowed: false })[1]).toBe('"per minute";r=2;t=8')
    expect(write('draft-11', { ...waits, allowed: false, retryAfterMs: Infinity })[1]).toBe('"per minute";r=2')
  })

  test('reports its unit, and its partition in both fields', () => {
    const reported = headerItem({ name: 'disk', quota: perMinute(100), unit: 'content-bytes' })
    const pk = partitionReader((key) => new TextEncoder().encode(`${key}!`), console)('ann') as string
    expect(write('draft-11', {}, reported, pk)).toEqual([
      '"disk";q=100;w=60;qu="content-bytes";pk=:YW5uIQ==:',
      '"disk";r=99;t=1;pk=:YW5uIQ==:',
    ])
    expect(write('draft-7', {}, reported, pk)).toEqual(['100;w=60', 'limit=100, remaining=99, reset=1'])
  })

  // The drafts forbid that a partition tells who it is.
  test.each<[string, (key: string) => unknown]>([
    ['is the key itself', (key) => Buffer.from(key)],
    ['is no bytes', (key) => key],
    ['is missing', () => undefined],
  ])('tells no partition that %s, and says so', (_, partition) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(partitionReader(partition as () => Uint8Array, console)('ann')).toBe('')
    expect(warn.mock.calls.flat().every((message) => message.includes('partition must return bytes'))).toBe(true)
  })

  test.each([
    ['a window below a second', tokenBucket({ limit: 10, per: 250 }), '40;w=1'],
    ['a fraction of a second more', slidingWindow({ limit: 10, window: '1.5s' }), '20;w=3'],
    ['a queue', leakyBucket({ limit: 1, per: '2s', queue: 4 }), '5;w=10'],
  ])('with %s tells whole seconds', (_, quota, numbers) =>
    expect(headerItem({ name: 'default', quota }).numbers).toBe(numbers),
  )
})

import { perMinute, rateLimiter } from '@spillway/memory'
import { expect, test } from 'vitest'
import { memoryStore } from '../src/index.ts'

test('warns once that limiters are built again and again without a store', () => {
  const warnings: string[] = []
  const logger = { warn: (message: string) => void warnings.push(message) }
  const shared = memoryStore()
  for (let i = 0; i < 200; i++) rateLimiter({ quota: perMinute(10), store: shared, name: `of route ${i}`, logger })
  for (let i = 0; i < 99; i++) rateLimiter({ quota: perMinute(10), logger })
  expect(warnings).toEqual([])
  for (let i = 0; i < 200; i++) rateLimiter({ quota: perMinute(10), logger })
  expect(warnings).toEqual([
    expect.stringMatching(/^spillway: 100 limiters were built without a store.*many_limiters]$/),
  ])
})

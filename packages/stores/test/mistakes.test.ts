import { perDay, type StoreError, type Take } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { compareAndSetStore, syncTransactionalStore, transactionalStore } from '@spillway/stores'
import { expect, test } from 'vitest'
import { lockingDriver, synchronousDriver, table, versionedDriver } from './reference.ts'

// What authors of drivers get wrong at first.

const take: Take[] = [{ policy: 'p', key: 'a', step: stepFor(perDay(10), 'consume', 1) }]
const messageOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'it was allowed',
    (error: StoreError) => error.message,
  )

test.each([
  ['milliseconds', Date.now()],
  ['a duration', 60e6],
  ['text', `${Date.now()}000`],
  ['a bigint', BigInt(Date.now()) * 1000n],
  ['parts of a microsecond', Date.now() * 1000 + 0.5],
])('now in %s fails with what to return', async (_, now) => {
  const driver = versionedDriver(table())
  const store = compareAndSetStore({ ...driver, now: () => now as number })
  expect(await messageOf(store.take(take))).toContain('now must return whole microseconds since 1970')
})

test.each([
  ['{"tat":1}'],
  ['{"tat":null,"gross":1,"turn":0}'],
  ['{"last":1,"slots":[1,2]}'],
  ['[1'],
  ['[1]'],
  ['1.5'],
  ['null'],
  [Buffer.from('1')],
  [7],
])('the state %j fails, and never allows', async (state) => {
  const driver = versionedDriver(table())
  const store = compareAndSetStore({ ...driver, get: async () => ({ state: state as string, version: 1 }) })
  expect(await messageOf(store.take(take))).toContain('is not the text of a state')
})

test('a transaction whose promise is not returned fails with what to do', async () => {
  const driver = lockingDriver(table())
  const store = transactionalStore({ ...driver, transaction: (run, attempt) => void driver.transaction(run, attempt) })
  expect(await messageOf(store.take(take))).toContain('return its promise, or await run(transaction)')
})

test('a driver with promises is no synchronous store', () => {
  expect(() => syncTransactionalStore(lockingDriver(table())).takeSync(take)).toThrow('use transactionalStore')
})

test('compareAndSet that returns no boolean fails', async () => {
  const driver = versionedDriver(table())
  const store = compareAndSetStore({ ...driver, compareAndSet: async () => ({ changes: 1 }) as never })
  expect(await messageOf(store.take(take))).toContain('compareAndSet must return true if it has written')
})

test('a driver without a method throws when the store is built', () => {
  const { transaction: _, ...driver } = synchronousDriver(table())
  expect(() => syncTransactionalStore(driver as never)).toThrow('transaction must be a function')
})

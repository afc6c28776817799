import { testStore } from '@spillway/conformance'
import { compareAndSetStore, syncTransactionalStore, transactionalStore } from '@spillway/stores'
import { describe, test } from 'vitest'
import { lockingDriver, synchronousDriver, table, versionedDriver } from './reference.ts'

// The whole suite on each base, over the reference drivers.

describe('transactions', () => {
  testStore(test, () => transactionalStore(lockingDriver(table()), { deadline: '10s' }), { histories: 30 })
})

describe('transactions of a synchronous client', () => {
  testStore(test, () => syncTransactionalStore(synchronousDriver(table())), { histories: 100 })
})

describe('compare-and-set', () => {
  testStore(test, () => compareAndSetStore(versionedDriver(table()), { deadline: '10s' }), { histories: 30 })
})

import { describe, test } from 'vitest'
import { START } from '../src/clock.ts'
import { testLedger } from '../src/ledger.ts'
import { modelStore } from '../src/model.ts'

// Reproduces bugs: 13 of these 4,000 histories over-admitted when a refund returned units that had already refilled, and
// when the state did not record that takes behind a refunded one had moved.
describe('the model', () => testLedger(test, () => modelStore(() => START), 4_000))

import { describe, test } from 'vitest'
import { START } from '../src/clock.ts'
import { testLedger } from '../src/ledger.ts'
import { modelStore } from '../src/model.ts'
import { runsOf } from '../src/runs.ts'

// Reproduces bugs: 13 of 4,000 such histories over-admitted when a refund returned units that had already refilled, and
// when the state did not record that takes behind a refunded one had moved.
describe('the model', () => testLedger(test, () => modelStore(() => START), runsOf(1_000)))

import { describe, test } from 'vitest'
import { START } from '../src/clock.ts'
import { testLedger } from '../src/ledger.ts'
import { modelStore } from '../src/model.ts'

// Thirteen of these 4,000 histories let more through than promised when a refund returned what time had given back, and
// when takes behind a refunded one were not known to have moved.
describe('the model', () => testLedger(test, () => modelStore(() => START), 4_000))

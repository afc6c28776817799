// Proves the kernels for all inputs and the protocols for all orders of steps, and looks at every mutant: `npm test` looks
// at a few.

import { ensureDependencies, ensureSpin, pnpm, program } from './ensure.mjs'

program(() => {
  ensureDependencies()
  ensureSpin()
  process.env['SPILLWAY_PROOFS'] = 'whole'
  pnpm('vitest', 'run', '--project', 'unit', '--project', 'shared', 'test/proofs', 'packages/core/test/protocols')
})

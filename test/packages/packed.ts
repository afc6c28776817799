import { inject } from 'vitest'
import { entriesOf, forWorkersOnly } from './app.ts'

export const app = inject('app')
export const specifiers = entriesOf(app)
  .filter((entry) => !forWorkersOnly(entry))
  .map(({ specifier }) => specifier)

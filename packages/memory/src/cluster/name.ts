import { QuotaError } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

/** The name of a store: any text. */
export function checkName(name: unknown = 'default'): string {
  if (typeof name === 'string' && name !== '') return name
  throw new QuotaError('ERR_SPILLWAY_OPTION', `name must be text, such as 'api'; got ${formatValue(name)}.`)
}

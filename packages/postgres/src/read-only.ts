import type { Step, Take } from '@spillway/core'
import type { Call } from './wire.ts'

/** PostgreSQL's read_only_sql_transaction: a standby, or a session or server that is set to be read-only. */
export const isReadOnly = (error: unknown): boolean => (error as { code?: unknown }).code === '25006'

/** The same calls as peeks, which write nothing: what is denied has the same answer. */
export function peeksOf(calls: readonly Call[]): readonly Call[] {
  // One peek for each step, so that the statement names it once.
  const peeks = new Map<Step, Step>()
  const peekOf = (take: Take): Take => {
    const step = peeks.get(take.step) ?? { ...take.step, peek: true }
    peeks.set(take.step, step)
    return { ...take, step }
  }
  return calls.map((call) => ({ ...call, ops: call.ops.map(peekOf) }))
}

/** A call that would have to write: it is allowed, and more than a peek. */
export const mustWrite = ({ ops }: Call, taken: readonly { readonly allowed: boolean }[]): boolean =>
  taken.every(({ allowed }) => allowed) && !ops.every(({ step }) => step.peek)

import type { Call } from './wire.ts'

/** PostgreSQL's read_only_sql_transaction: a standby, or a session or server that is set to be read-only. */
export const isReadOnly = (error: unknown): boolean => (error as { code?: unknown }).code === '25006'

/** The same calls as peeks, which write nothing: what is denied has the same answer. */
export const peeksOf = (calls: readonly Call[]): readonly Call[] =>
  calls.map((call) => ({ ...call, ops: call.ops.map((take) => ({ ...take, step: { ...take.step, peek: true } })) }))

/** A call that would have to write: it is allowed, and more than a peek. */
export const mustWrite = ({ ops }: Call, taken: readonly { readonly allowed: boolean }[]): boolean =>
  taken.every(({ allowed }) => allowed) && !ops.every(({ step }) => step.peek)

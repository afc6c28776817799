import type { Call } from '@spillway/stores/internal'

/** PostgreSQL's read_only_sql_transaction: a standby, or a read-only session or server. */
export const isReadOnly = (error: unknown): boolean => (error as { code?: unknown }).code === '25006'

/** The same calls as peeks, which write nothing. A denied call has the same result as a peek. */
export const peeksOf = (calls: readonly Call[]): readonly Call[] =>
  calls.map((call) => ({ ...call, ops: call.ops.map((take) => ({ ...take, step: { ...take.step, peek: true } })) }))

/** Reports whether a call must write: it is allowed, and is not a peek. */
export const mustWrite = ({ ops }: Call, taken: readonly { readonly allowed: boolean }[]): boolean =>
  taken.every(({ allowed }) => allowed) && !ops.every(({ step }) => step.peek)

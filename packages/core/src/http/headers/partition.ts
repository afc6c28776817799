import { inTime } from '../../common/in-time.ts'
import { andThen, failing, type MaybePromise } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import type { PolicyHeaderOptions } from './header-item.ts'
import { byteSequence } from './structured.ts'

/** Formats the partition of a key as a parameter. */
export type PartitionReader = (key: string) => MaybePromise<string>

export const partitionReader = (
  partition: NonNullable<PolicyHeaderOptions['partition']>,
  logger: Logger,
): PartitionReader =>
  failing((key: string) =>
    andThen<unknown, string>(inTime('partition')(partition(key)), (bytes) => parameter(bytes, key, logger)),
  )

/** The parameter; empty if the partition is not bytes, or is the key itself, which headers must not reveal. */
function parameter(bytes: unknown, key: string, logger: Logger): string {
  if (bytes instanceof Uint8Array && !spells(bytes, key)) return `;pk=${byteSequence(bytes)}`
  warnOnce(
    logger,
    'WARN_SPILLWAY_PARTITION',
    'partition must return bytes that do not reveal the key, such as a truncated HMAC. It was left out of the headers.',
  )
  return ''
}

/** Whether bytes spell a text. Common encodings agree in ASCII, so bytes are compared with character codes. */
const spells = (bytes: Uint8Array, text: string): boolean =>
  bytes.length === text.length && bytes.every((byte, i) => byte === text.charCodeAt(i))

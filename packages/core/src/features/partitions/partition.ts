import { inTime } from '../../common/in-time.ts'
import { type Awaitable, andThen, failing, type MaybePromise } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { byteSequence } from '../../http/headers/structured.ts'

/** The option for the partition of a client. */
export interface PartitionOptions {
  /**
   * Returns a few bytes that identify the client's partition in headers (`pk`), computed from the key. Clients read
   * them: use a truncated HMAC of the key, never the key.
   * @default none
   */
  readonly partition?: (key: string) => Awaitable<Uint8Array>
}

/** Formats the partition of a key as a parameter. */
export type PartitionReader = (key: string) => MaybePromise<string>

export const partitionReader = (
  partition: NonNullable<PartitionOptions['partition']>,
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

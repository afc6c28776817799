/** The part of a web stream that is used. */
interface Stream {
  readonly locked: boolean
  pipeTo(to: never): Promise<void>
}

// Each runtime of fetch handlers defines it, but no ECMAScript library declares it.
declare const TransformStream: new <S extends Stream>(
  transformer: undefined,
  writing: undefined,
  reading: { readonly highWaterMark: number },
) => { readonly readable: S; readonly writable: never }

/**
 * A copy of a response's body to send instead, and a promise that resolves when the copy has been read to the end or
 * cancelled. Undefined if nothing reads it: HEAD has no body, and one that has a reader is reported by the runtime.
 */
export function untilRead<S extends Stream>(
  body: S | null,
  method: string,
): { readonly copy: S; readonly read: Promise<void> } | undefined {
  if (body === null || body.locked || method === 'HEAD') return undefined
  // Buffers one chunk, so that a body of one chunk finishes even if it is never read.
  const { readable, writable } = new TransformStream<S>(undefined, undefined, { highWaterMark: 1 })
  return { copy: readable, read: body.pipeTo(writable).catch(() => {}) }
}

/**
 * The response, and a promise that is kept when it has been read to its end, or nobody reads it any more. A response
 * without a body is itself, and read.
 */
export function untilRead(response: Response): readonly [response: Response, read: Promise<void>] {
  if (response.body === null) return [response, Promise.resolve()]
  // Room for one piece, so that a body that is a text is through whether or not anybody reads it.
  const { readable, writable } = new TransformStream(undefined, undefined, { highWaterMark: 1 })
  return [new Response(readable, response), response.body.pipeTo(writable).catch(() => {})]
}

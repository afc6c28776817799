import type { Send } from './mount.ts'

/** Sends requests to a handler that takes a `Request` and returns a `Response`, without a network. */
export const sendInto =
  (handler: (request: Request) => Response | Promise<Response>): Send =>
  async ({ path = '/', ...init } = {}) => {
    const { signal } = init
    const left = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
    })
    const response = await Promise.race([handler(new Request(`http://localhost${path}`, init)), left])
    const cookies = response.headers.getSetCookie()
    const headers = {
      ...Object.fromEntries(response.headers),
      ...(cookies.length > 0 && { 'set-cookie': String(cookies) }),
    }
    return { status: response.status, headers, body: await response.text() }
  }

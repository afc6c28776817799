/** The longest body, in bytes. */
const MOST_BYTES = 64 * 1024

/** Why a request to change something may come from another site; undefined if it does not. */
export async function crossSite({ headers, url }: Request, token: string): Promise<string | undefined> {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return 'the request comes from another site'
  const origin = headers.get('origin')
  if (origin !== null) {
    if (!URL.canParse(origin)) return 'the request comes from another origin'
    const { protocol, host } = new URL(origin)
    // Behind a proxy that ends TLS, the scheme differs, and `Host` may have the port that is the default of the page's scheme.
    const own = new URL(`${protocol}//${new URL(url).host}`).host
    if (host !== own) {
      return `the request comes from another origin: its Origin is ${host}, its Host is ${own}. A proxy must pass Host on`
    }
  }
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? '')) return 'the body must be application/json'
  return headers.get('x-spillway-token') === token ? undefined : 'the token is missing or old; load the page again'
}

/** The text of a body; undefined if it is too long. */
export async function textIn({ body }: Request): Promise<string | undefined> {
  const reader = body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.byteLength
    if (bytes > MOST_BYTES) {
      // Not awaited: it ends only when the original of the clone is cancelled, too.
      void reader.cancel().catch(() => {})
      return undefined
    }
    text += decoder.decode(read.value, { stream: true })
  }
  return text
}

/** The members of a JSON object, of any type. */
export type Members = Readonly<Record<string, unknown>>

/** The members of a JSON object; undefined if the text is not one. */
export function membersIn(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

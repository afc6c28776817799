/** A key of a list, as the page refers to it without seeing it. */
export interface Sealed {
  readonly policy: string
  readonly key: string
}

const IV_BYTES = 12
type Cipher = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const encoder = /* @__PURE__ */ new TextEncoder()

/** Encrypts keys for the page, and makes its token; all by one secret, so that processes with the same secret agree. */
export class Seal {
  readonly #secret: string
  #cipher: Promise<Cipher> | undefined
  #token: Promise<string> | undefined

  constructor(secret: string | undefined) {
    this.#secret = secret ?? `${crypto.randomUUID()}${crypto.randomUUID()}`
  }

  /** The token that a request must send to change anything. */
  token(): Promise<string> {
    this.#token ??= this.#digest('token').then(textOf)
    return this.#token
  }

  async seal(sealed: Sealed): Promise<string> {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
    const bytes = encoder.encode(JSON.stringify([sealed.policy, sealed.key]))
    const encrypted = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, await this.#key(), bytes))
    return textOf(new Uint8Array([...iv, ...encrypted]))
  }

  /** Undefined if the text was not sealed by this secret. */
  async open(text: string): Promise<Sealed | undefined> {
    try {
      const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
      const iv = bytes.subarray(0, IV_BYTES)
      const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, await this.#key(), bytes.subarray(IV_BYTES))
      const [policy, key] = JSON.parse(new TextDecoder().decode(opened)) as [string, string]
      return { policy, key }
    } catch {
      return undefined
    }
  }

  #key(): Promise<Cipher> {
    this.#cipher ??= this.#digest('keys').then((raw) =>
      crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt']),
    )
    return this.#cipher
  }

  async #digest(use: string): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(
      await crypto.subtle.digest('SHA-256', encoder.encode(`spillway admin ${use} ${this.#secret}`)),
    )
  }
}

const textOf = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

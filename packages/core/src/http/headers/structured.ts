/** A string in structured fields (RFC 9651, section 4.1.6); `text` is printable ASCII. */
export const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`

/** The largest integer that structured fields can hold (RFC 9651, section 4.1.4). */
export const MOST_INTEGER = 999_999_999_999_999

/** The nearest integer that structured fields can hold. */
export const integer = (value: number): number => Math.min(value, MOST_INTEGER)

/** Bytes in structured fields (RFC 9651, section 4.1.8). */
export function byteSequence(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const rest = bytes.length - i
    const group = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    text +=
      digit(group >> 18) + digit(group >> 12) + (rest > 1 ? digit(group >> 6) : '=') + (rest > 2 ? digit(group) : '=')
  }
  return `:${text}:`
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const digit = (bits: number): string => BASE64.charAt(bits & 63)

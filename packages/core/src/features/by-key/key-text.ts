import { formatValue, QuotaError } from '../../common/errors.ts'
import { addressKey, within } from '../../http/addresses/address.ts'
import { withoutPort } from '../../http/addresses/address-in.ts'
import { plainPath } from '../../http/requests/path.ts'
import { joinParts, splitSelector } from '../selectors/selector-syntax.ts'

/**
 * Builds the function that makes a key of the texts of its parts, as the key option makes it of a request. Throws a
 * `QuotaError` if the key does not have these parts.
 */
export function keyTextOf(option: unknown, ipv6Prefix: number): (key: unknown) => string {
  if (!Array.isArray(option)) return (key) => partText(option, checkText(option, key), ipv6Prefix)
  return (key) => {
    if (Array.isArray(key) && key.length === option.length) {
      return joinParts(key.map((part, i) => partText(option[i], checkPart(option[i], part), ipv6Prefix)))
    }
    throw invalidKey(
      `this policy's key has ${option.length} parts: write [${option.map((each) => formatValue(`the ${each}`)).join(', ')}]; got ${Array.isArray(key) ? `a list of ${key.length}` : formatValue(key)}.`,
    )
  }
}

function partText(selector: unknown, part: string, ipv6Prefix: number): string {
  if (typeof selector === 'function') return part
  switch (splitSelector(selector)[0]) {
    case 'ip':
      return addressText(part, ipv6Prefix)
    case 'method':
      return part.toUpperCase()
    case 'path':
      return plainPath(part)
    default:
      return part
  }
}

/** The key of an address, or of a network as it is in reports and logs. */
function addressText(text: string, ipv6Prefix: number): string {
  const slash = text.indexOf('/')
  if (slash < 0 || !text.includes(':')) return addressKey(withoutPort(text), ipv6Prefix)
  within('key', [text])
  if (Number(text.slice(slash + 1)) === ipv6Prefix) return addressKey(text.slice(0, slash), ipv6Prefix)
  throw invalidKey(`clients are counted by /${ipv6Prefix}, the ipv6Prefix of this rateLimit; got ${formatValue(text)}.`)
}

function checkText(option: unknown, key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  const wanted = typeof option === 'function' ? 'the text that the key function returns' : `the ${String(option)}`
  throw invalidKey(`key must be a non-empty string, ${wanted}; got ${formatValue(key)}.`)
}

/** A part may be empty: a request may lack it. */
function checkPart(selector: unknown, part: unknown): string {
  if (typeof part === 'string') return part
  throw invalidKey(`each part of the key must be a string; got ${formatValue(part)} for ${formatValue(selector)}.`)
}

const invalidKey = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_KEY', problem)

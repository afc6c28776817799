import type { Micros } from '@spillway/core'

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

const COLON = 58

/** The number in the two digits after a colon at `at`; NaN if they are invalid, or above `most`. */
const two = (text: string, at: number, most: number): number => {
  const tens = text.charCodeAt(at + 1) - 48
  const ones = text.charCodeAt(at + 2) - 48
  const isNumber = text.charCodeAt(at) === COLON && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9
  return isNumber && tens * 10 + ones <= most ? tens * 10 + ones : Number.NaN
}

/** The length of the time of common logs. */
export const COMMON_LENGTH = 26

/**
 * Reads `10/Oct/2000:13:55:36 -0700`, the time of common logs, which begins at `start` of a text and fits into it. The date is
 * parsed once for consecutive lines of a day.
 */
export function commonLogTimes(): (text: string, start: number) => Micros | undefined {
  // No time begins like this.
  let last = '-'
  let moment: Micros | undefined
  let day = ''
  let zone = ''
  let midnight = 0
  return (text, start) => {
    if (text.startsWith(last, start)) return moment
    if (day === '' || !text.startsWith(day, start) || !text.startsWith(zone, start + 20)) {
      const date = text.slice(start, start + 11)
      const offset = text.slice(start + 20, start + COMMON_LENGTH)
      const found = midnightOf(date, offset)
      if (found === undefined) return undefined
      day = date
      zone = offset
      midnight = found
    }
    // A leap second is the 60th.
    const seconds = two(text, start + 11, 23) * 3600 + two(text, start + 14, 59) * 60 + two(text, start + 17, 60)
    const at = midnight + seconds * 1e6
    if (!isTime(at)) return undefined
    last = text.slice(start, start + COMMON_LENGTH)
    moment = at
    return at
  }
}

function midnightOf(date: string, offset: string): Micros | undefined {
  const [, day, name, year] = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4})$/.exec(date) ?? []
  const [, sign, hours, minutes] = /^ ([+-])(\d\d)([0-5]\d)$/.exec(offset) ?? []
  const month = name === undefined ? -1 : MONTHS.indexOf(name)
  if (sign === undefined || month < 0) return undefined
  const midnight = new Date(Date.UTC(Number(year), month / 3, Number(day)))
  // There is no 31st of February: the date would be in March. A year before 100 would be one after 1900.
  if (midnight.getUTCDate() !== Number(day) || midnight.getUTCFullYear() !== Number(year)) return undefined
  const shift = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60e6 : 60e6)
  return midnight.getTime() * 1e3 - shift
}

/**
 * Reads the times of JSON logs: numbers, also as strings, of seconds, milliseconds, microseconds or nanoseconds since
 * 1970, distinguished by their size; ISO 8601 dates; the time of common logs.
 */
export function anyTimes(): (value: unknown) => Micros | undefined {
  const common = commonLogTimes()
  let last = ''
  let base = 0
  let zone = ''
  const iso = (text: string): Micros | undefined => {
    const { fraction, end } = fractionIn(text, 19)
    if (last === '' || !text.startsWith(last) || text.length !== end + zone.length || !text.endsWith(zone)) {
      const second = text.slice(0, 19)
      const offset = text.slice(end)
      const found = Date.parse(`${second.replace(' ', 'T')}${offset.trim() || 'Z'}`) * 1e3
      if (!isTime(found)) return undefined
      last = second
      zone = offset
      base = found
    }
    return base + fraction
  }
  const inText = (text: string): Micros | undefined => {
    if (text.charCodeAt(4) === 45 && text.length >= 19) return iso(text)
    const isCommon = text.length === COMMON_LENGTH
    return (isCommon ? common(text, 0) : undefined) ?? (/^\d+(\.\d+)?$/.test(text) ? numeric(Number(text)) : undefined)
  }
  let read = ''
  let moment: Micros | undefined
  return (value) => {
    if (typeof value === 'number') return numeric(value)
    if (typeof value !== 'string') return undefined
    // A text is checked first, and then read.
    if (value !== read) {
      moment = inText(value)
      read = value
    }
    return moment
  }
}

/** The microseconds of a decimal fraction that may begin at `start`, and where it ends. */
function fractionIn(text: string, start: number): { readonly fraction: Micros; readonly end: number } {
  if (text.charCodeAt(start) !== 46) return { fraction: 0, end: start }
  let fraction = 0
  let end = start + 1
  for (let unit = 1e5; text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57; end++, unit /= 10) {
    if (unit >= 1) fraction += (text.charCodeAt(end) - 48) * unit
  }
  return { fraction, end }
}

function numeric(value: number): Micros | undefined {
  const at = Math.round(value < 1e11 ? value * 1e6 : value < 1e14 ? value * 1e3 : value < 1e17 ? value : value / 1e3)
  return value > 0 && isTime(at) ? at : undefined
}

/**
 * Whether limits can be counted at a time. A time before 1970 is negative, and a minus sign marks a state as a debt. A number
 * holds the microseconds of times until 2255 exactly.
 */
const isTime = (at: Micros): boolean => at >= 0 && at <= Number.MAX_SAFE_INTEGER

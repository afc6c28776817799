const whole = new Intl.NumberFormat('en')

/** `1,234,567`. */
export const count = (value: number): string => whole.format(value)

/** A share of requests as a percentage of at most three digits. */
export function percent(part: number, all: number): string {
  const share = all === 0 ? 0 : (100 * part) / all
  return `${Number(share.toPrecision(3))} %`
}

/** A time in UTC, to the second. */
export const moment = (millis: number): string => new Date(millis).toISOString().slice(0, 19).replace('T', ' ')

/** A number with its noun. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

/** A text of a log without control characters, which can also change the direction of what follows. */
export const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex removes them
  text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '�').slice(0, 120)

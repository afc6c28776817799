import { InvalidArgumentError } from 'commander'
import { UserError } from '../io.ts'
import type { Fields } from '../log/json.ts'

const KNOWN = /^(time|ip|method|path|status|(header|cookie|claim):.+)$/

/** Reads `--field ip=client.addr`, any number of them. */
export function fieldsOf(options: readonly string[]): Fields {
  return Object.fromEntries(
    options.map((option) => {
      const equals = option.indexOf('=')
      const name = option.slice(0, Math.max(equals, 0))
      if (KNOWN.test(name) && equals < option.length - 1) {
        return [name.startsWith('header:') ? name.toLowerCase() : name, option.slice(equals + 1)]
      }
      throw new UserError(
        `--field maps time, ip, method, path, status, header:NAME, cookie:NAME or claim:NAME to a field of a JSON log, such as ip=client.address; got ${JSON.stringify(option)}.`,
      )
    }),
  )
}

/** Reads a share such as `0.1%` or `0.001`. */
export function shareOf(text: string): number {
  const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text) ?? []
  const share = Number(digits) / (sign ? 100 : 1)
  if (share >= 0 && share <= 1) return share
  throw new UserError(`a share is a percentage such as 0.1%, or a number from 0 to 1; got ${JSON.stringify(text)}.`)
}

/** Reads a whole number between two others. */
export const wholeFrom =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}; got ${JSON.stringify(text)}.`)
  }

/** Reads an option that may be given several times. */
export const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

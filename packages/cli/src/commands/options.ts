import { InvalidArgumentError } from 'commander'
import { UserError } from '../io.ts'
import type { Fields } from '../log/json-parts.ts'

const KNOWN = /^(time|ip|method|path|status|took:(s|ms|us)|(header|cookie|claim):.+)$/

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
        `--field maps time, ip, method, path, status, took:s, took:ms, took:us, header:NAME, cookie:NAME or claim:NAME to a field of a JSON log, such as ip=client.address; got ${JSON.stringify(option)}.`,
      )
    }),
  )
}

/** Reads a percentage such as `0.1%`. A number without a sign could be a percentage or a fraction. */
export function shareOf(option: string, text: string): number {
  const [, digits, sign] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text) ?? []
  const number = Number(digits)
  if ((sign === '%' || number === 0) && number <= 100) return number / 100
  const meant =
    sign === '' && number <= 1 ? `: write ${text}% or ${Number((100 * number).toPrecision(12))}%` : ' such as 0.1%'
  throw new UserError(`${option} is a percentage${meant}; got ${JSON.stringify(text)}.`)
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

import type { State } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

/** The text of no state: what is left of a row whose first write was rolled back. */
export const NO_STATE = ''

/** The numbers of each kind of state that is an object, by the one that no other kind has. */
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  gross: ['tat', 'gross', 'turn'],
  start: ['start', 'current', 'previous'],
  cold: ['writtenAt', 'ahead', 'early', 'cold', 'scale'],
  level: ['writtenAt', 'first', 'count', 'until', 'level', 'last'],
  slots: ['last', 'ttl'],
}

/** A state as text, for a column, a document or a value of any database: whole numbers, as JSON. */
export const textOf = (state: State | undefined): string => (state === undefined ? NO_STATE : JSON.stringify(state))

/**
 * The state in a text; undefined if it is of none. Throws a TypeError if it is not the text of a state: a missing number would
 * allow every request.
 */
export function stateIn(text: unknown, name: string): State | undefined {
  if (text === NO_STATE) return undefined
  const state = typeof text === 'string' ? parsed(text) : undefined
  if (isState(state)) return state
  const instead =
    typeof text === 'string'
      ? 'Does another program write to the table, or does a column cut long texts?'
      : 'The driver must return it as it was written: a string.'
  throw new TypeError(
    `the state of ${formatValue(name)} is ${formatValue(text)}, which is not the text of a state. ${instead}`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const areNumbers = (values: readonly unknown[]): values is readonly number[] => values.every(Number.isSafeInteger)

function isState(value: unknown): value is State {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length % 2 === 0 && areNumbers(value)
  const { slots, ...numbers } = value as Readonly<Record<string, unknown>>
  if (!areNumbers(Object.values(numbers))) return false
  if (slots !== undefined && !(Array.isArray(slots) && slots.length % 2 === 0 && areNumbers(slots))) return false
  const kind = Object.keys(NUMBERS).find((name) => name in value)
  return kind !== undefined && (NUMBERS[kind] as readonly string[]).every((name) => name in numbers)
}

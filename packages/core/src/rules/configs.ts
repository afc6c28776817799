import { MOST_SLOTS } from '../algorithms/slots/slots-checks.ts'
import type { Schema } from './json-schema.ts'

/** The name of a header. */
export const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z\\-]+"
/** The name of a parameter or a claim: it may have spaces, but none around it. */
export const NAME = '\\S(.*\\S)?'
/** Where a cost is read. */
export const SOURCE: string = `(header:${TOKEN}|query:${NAME})`
const MOST = Number.MAX_SAFE_INTEGER

const whole = (minimum: number): Schema => ({
  description: minimum === 0 ? 'a whole number, 0 or more' : 'a whole number, 1 or more',
  type: 'integer',
  minimum,
  maximum: MOST,
})
const rate: Schema = { description: 'a number greater than 0', type: 'number', exclusiveMinimum: 0 }
const duration: Schema = {
  description: 'a number with its unit, ms, s, m, h or d, such as "10s"',
  type: 'string',
  pattern: '^\\d{1,15}(\\.\\d{1,9})?(ms|s|m|h|d)$',
}

const COST: Readonly<Record<string, Schema>> = {
  cost_source: {
    description: '"fixed", "header:NAME" or "query:NAME"',
    type: 'string',
    pattern: `^(fixed|${SOURCE})$`,
  },
  fixed_cost: whole(1),
  default_cost: whole(1),
  max_cost: whole(1),
}

const config = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema => ({
  description: 'an object with the numbers of the algorithm',
  type: 'object',
  properties: { ...properties, ...COST },
  required,
  additionalProperties: false,
})

const windowed = config({ limit: whole(0), window: duration }, ['limit', 'window'])

/** The numbers of each algorithm. */
export const CONFIGS: Readonly<Record<string, Schema>> = {
  token_bucket: {
    ...config(
      {
        tokens_per_second: rate,
        rps: rate,
        limit: whole(0),
        per: duration,
        burst: whole(1),
        refill: duration,
        overdraft: whole(0),
        initial: whole(0),
        keep_full: duration,
      },
      [],
    ),
    oneOf: [{ required: ['tokens_per_second'] }, { required: ['rps'] }, { required: ['limit'] }],
    dependentRequired: { limit: ['per'], per: ['limit'], keep_full: ['initial'] },
  },
  leaky_bucket: config({ limit: whole(0), per: duration, queue: whole(0) }, ['limit', 'per', 'queue']),
  fixed_window: config(
    {
      limit: whole(0),
      window: duration,
      align: { description: '"clock" or "first"', enum: ['clock', 'first'] },
      offset: duration,
    },
    ['limit', 'window'],
  ),
  calendar_window: config(
    {
      limit: whole(0),
      unit: { description: '"month", "week" or "day"', enum: ['month', 'week', 'day'] },
      time_zone: { description: 'the name of a time zone such as "Europe/Berlin"', type: 'string', pattern: '.' },
      first_day: {
        description: 'a day of a month, 1 to 31, or of a week, 1, Monday, to 7',
        type: 'integer',
        minimum: 1,
        maximum: 31,
      },
    },
    ['limit', 'unit'],
  ),
  sliding_window: windowed,
  sliding_log: windowed,
  warming_up: config({ limit: whole(1), per: duration, warm_up_period: duration, burst: whole(1) }, [
    'limit',
    'per',
    'warm_up_period',
  ]),
  in_flight: config(
    { limit: { ...whole(0), description: 'a whole number, 0 to 10,000', maximum: MOST_SLOTS }, ttl: duration },
    ['limit'],
  ),
  penalty: {
    ...config(
      {
        after: whole(1),
        within: duration,
        block: duration,
        grow: whole(1),
        max: duration,
        forgive: duration,
        extend: { description: 'true or false', type: 'boolean' },
      },
      ['after', 'within', 'block'],
    ),
    dependentRequired: { grow: ['max'], max: ['grow'], forgive: ['grow'] },
  },
}

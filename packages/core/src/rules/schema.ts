import { METHODS } from '../common/methods.ts'
import { PATH_PATTERN } from '../common/path-pattern.ts'
import { MOST_POLICIES } from '../policies/count.ts'
import { CONFIGS, NAME, SOURCE, TOKEN } from './configs.ts'
import { type Schema, when } from './json-schema.ts'

const ALGORITHMS = Object.keys(CONFIGS)

/** A string or a list of strings; `each` is the schema of one. */
const someOf = (each: Schema): Schema => when({ type: 'array' }, { type: 'array', items: each, minItems: 1 }, each)

const oneMatch: Schema = {
  description: 'an object that says which requests the rule is for',
  type: 'object',
  minProperties: 1,
  properties: {
    method: someOf({ description: 'a method in capitals such as "GET"', enum: METHODS }),
    path: someOf({
      description:
        'a path such as "/login", "/users/:id" or "/users/*/posts", in which ":id" and "*" are one segment, or "/api/*", for all below',
      type: 'string',
      pattern: PATH_PATTERN,
    }),
  },
  patternProperties: {
    [`^header:${TOKEN}$`]: {
      title: 'header:NAME',
      if: { type: 'string' },
      else: { description: 'text, or true for any', enum: [true] },
    },
    '^(claim|jwt):.+$': {
      title: 'claim:NAME',
      description: 'text, a number, true or false',
      type: ['string', 'number', 'boolean'],
    },
  },
  additionalProperties: false,
}

/** One of the conditions, or a list, of which one must hold. */
const match: Schema = when({ type: 'array' }, { type: 'array', items: oneMatch, minItems: 1 }, oneMatch)

/** The costs that no algorithm takes. */
const costs: readonly Schema[] = [
  when(
    { type: 'object', required: ['fixed_cost'] },
    {},
    { type: 'object', dependentRequired: { default_cost: ['cost_source'] } },
  ),
  // A body of unknown length costs `max_cost`.
  when(
    {
      type: 'object',
      properties: {
        cost_source: { type: 'string', pattern: '^header:[Cc][Oo][Nn][Tt][Ee][Nn][Tt]-[Ll][Ee][Nn][Gg][Tt][Hh]$' },
      },
      required: ['cost_source'],
    },
    { type: 'object', dependentRequired: { cost_source: ['max_cost'] } },
  ),
]

/** The JSON Schema of one rule. */
export const ruleSchema: Schema = {
  description: 'an object: a rule',
  type: 'object',
  properties: {
    name: { description: '1 to 100 printable ASCII characters', type: 'string', pattern: '^[ -~]{1,100}$' },
    limit_keys: {
      description: 'a list of selectors such as ["ip:address"]',
      type: 'array',
      minItems: 1,
      items: {
        description: '"ip:address", "method", "path", "header:NAME", "query:NAME", "cookie:NAME" or "claim:NAME"',
        type: 'string',
        pattern: `^(ip|ip:address|method|path|${SOURCE}|cookie:${TOKEN}|(claim|jwt):${NAME})$`,
      },
    },
    algorithm: { description: `one of ${ALGORITHMS.map((name) => JSON.stringify(name)).join(', ')}`, enum: ALGORITHMS },
    algorithm_config: { description: 'an object with the numbers of the algorithm', allOf: costs },
    match,
    mode: { description: '"enforce" or "shadow"', enum: ['enforce', 'shadow'] },
    count_if: {
      description: 'a list of response statuses such as [401]',
      type: 'array',
      items: { description: 'a status from 100 to 599', type: 'integer', minimum: 100, maximum: 599 },
      minItems: 1,
    },
    blocks: { description: 'true or false', type: 'boolean' },
    spill: { description: 'the name of the rule that is drawn upon only if this one is empty', type: 'string' },
    tiers: {
      description: 'the name of a group of rules, of which the first that matches counts',
      type: 'string',
      pattern: '.',
    },
  },
  required: ['name', 'limit_keys', 'algorithm', 'algorithm_config'],
  additionalProperties: false,
  allOf: ALGORITHMS.map((name) =>
    when(
      { type: 'object', properties: { algorithm: { const: name } }, required: ['algorithm'] },
      { type: 'object', properties: { algorithm_config: CONFIGS[name] as Schema } },
    ),
  ),
}

const rules: Schema = {
  description: 'a list of rules',
  type: 'array',
  items: ruleSchema,
  minItems: 1,
  maxItems: MOST_POLICIES,
}

/**
 * The JSON Schema (draft 2020-12) of the documents that `policiesFrom` reads. In addition, `policiesFrom` rejects duplicate
 * names, `spill` and `tiers` that lead nowhere, unknown time zones, and numbers that no quota can represent exactly.
 */
export const rulesSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Spillway rules',
  ...when({ type: 'array' }, rules, {
    description: 'a list of rules, or an object { "rules": [...] }',
    type: 'object',
    properties: { $schema: { description: 'the address of this schema', type: 'string' }, rules },
    required: ['rules'],
    additionalProperties: false,
  }),
}

import { formatValue, QuotaError } from '../common/errors.ts'
import { checkOptions } from '../common/guess.ts'
import { checkFunctions } from '../common/options.ts'
import { MOST_POLICIES } from '../policies/count.ts'
import { checkSpills } from '../policies/spill-targets.ts'
import { namesOf } from '../policies/state-names.ts'
import { checkTiers } from '../policies/tiers.ts'
import { quotaFrom, type RateConfig, type RuleBuilders } from './rate.ts'
import type { RuleKey, RuleMatch, RulePolicy } from './rule-policy.ts'
import { ruleSchema, rulesSchema } from './schema.ts'
import { withTiers } from './tiers.ts'
import { at, check, problemOf, ROOT } from './validate.ts'
import { wholeUnits } from './whole-units.ts'

interface Config extends RateConfig {
  readonly cost_source?: 'fixed' | `header:${string}` | `query:${string}`
  readonly fixed_cost?: number
  readonly default_cost?: number
  readonly max_cost?: number
}

type Conditions = Readonly<Record<string, unknown>>

/** A rule in JSON, after `ruleSchema` has checked it. */
interface Rule {
  readonly name: string
  readonly limit_keys: readonly string[]
  readonly algorithm: string
  readonly algorithm_config: Config
  readonly match?: Conditions | readonly Conditions[]
  readonly mode?: 'enforce' | 'shadow'
  readonly count_if?: readonly number[]
  readonly blocks?: boolean
  readonly spill?: string
  readonly tiers?: string
}

/** The most problems in one error, to keep it readable. */
const MOST_PROBLEMS = 20

/**
 * The policies in a parsed JSON document: a list of rules, or an object whose `rules` is one. `rulesSchema` defines the
 * format. Throws one QuotaError that lists all problems, each with its path and its fix.
 *
 * A rule that could never deny, because a later rule without `match` counts the same requests by the same keys with a
 * smaller quota, becomes a tier of that rule: a request has the first of them that matches.
 *
 * The format is an existing one with two differences. `burst` may be less than `tokens_per_second`, because a burst of
 * 1 spaces requests evenly. Units are whole numbers: a rate may be a fraction of them, a burst or a cost may not.
 *
 * Rules with `in_flight` need `{ inFlight }` as the second argument.
 */
export function policiesFrom(json: unknown, builders: RuleBuilders = {}): readonly RulePolicy[] {
  checkOptions('policiesFrom', builders, ['inFlight'])
  checkFunctions(builders, ['inFlight'])
  const listed = Array.isArray(json)
  const problems = [...check(json, rulesSchema, listed ? 'rules' : ROOT)]
  const rules = listed ? json : (json as { rules?: unknown } | null | undefined)?.rules
  const policies: RulePolicy[] = []
  const names = new Set<string>()
  for (const [i, rule] of (Array.isArray(rules) && rules.length <= MOST_POLICIES ? rules : []).entries()) {
    if (check(rule, ruleSchema, '').length > 0) {
      problems.push(...wholeUnits(rule?.algorithm_config, `rules[${i}].algorithm_config`))
      continue
    }
    problems.push(...problemOf(() => policies.push(policyFrom(rule, `rules[${i}]`, builders))))
    const own = namesOf(rule)
    const taken = own.find((name) => names.has(name))
    if (taken !== undefined) problems.push(`rules[${i}].name must be its own; ${formatValue(taken)} is taken.`)
    for (const name of own) names.add(name)
  }
  if (problems.length === 0) problems.push(...problemOf(() => at('rules', () => checkRelated(policies))))
  if (problems.length === 0) return withTiers(policies)
  const more = problems.length - MOST_PROBLEMS
  const last = more > 0 ? [`… and ${more} more.`] : []
  throw invalidRules(`policiesFrom: ${[...problems.slice(0, MOST_PROBLEMS), ...last].join('\n  ')}${hintFor(json)}`)
}

/** What to write for a value that has yet to become a document. */
function hintFor(json: unknown): string {
  if (json instanceof Promise) return ' Await it first.'
  return typeof json === 'string' || ArrayBuffer.isView(json) ? ' Give it what JSON.parse returns.' : ''
}

function checkRelated(policies: readonly RulePolicy[]): void {
  checkSpills(policies)
  checkTiers(policies)
}

function policyFrom(rule: Rule, path: string, builders: RuleBuilders): RulePolicy {
  const { name, limit_keys, algorithm, algorithm_config: config, match, mode, count_if, blocks, spill, tiers } = rule
  const keys = limit_keys.map(keyFrom)
  return {
    name,
    quota: at(`${path}.algorithm_config`, () => quotaFrom(algorithm, config, builders)),
    key: keys.length === 1 ? (keys[0] as RuleKey) : keys,
    ...at(`${path}.algorithm_config`, () => costFrom(config)),
    ...(match && { match: matchesFrom(match, `${path}.match`) }),
    ...(mode && { mode }),
    ...(count_if && { countIf: count_if }),
    ...(blocks !== undefined && { blocks }),
    ...(spill !== undefined && { spill }),
    ...(tiers !== undefined && { tiers }),
  }
}

function keyFrom(key: string): RuleKey {
  if (key === 'ip:address') return 'ip'
  const [kind, name] = split(key)
  if (name === '') return key as RuleKey
  return `${kind}:${name}` as RuleKey
}

function costFrom({ cost_source, fixed_cost, default_cost, max_cost }: Config): Partial<RulePolicy> {
  const isFixed = cost_source === undefined || cost_source === 'fixed'
  const cost = isFixed ? fixed_cost : cost_source
  if (typeof cost === 'number' && max_cost !== undefined && cost > max_cost) {
    throw invalidRules(
      `max_cost is ${max_cost}, but every request costs ${cost}. Write "fixed_cost": ${max_cost}, or leave out "max_cost".`,
    )
  }
  return {
    ...(cost !== undefined && { cost }),
    // A fixed cost is never missing.
    ...(default_cost !== undefined && !isFixed && { defaultCost: default_cost }),
    ...(max_cost !== undefined && { maxCost: max_cost }),
  }
}

function matchesFrom(match: NonNullable<Rule['match']>, path: string): NonNullable<RulePolicy['match']> {
  return isList(match)
    ? match.map((each, i) => at(`${path}[${i}]`, () => matchFrom(each)))
    : at(path, () => matchFrom(match))
}

const isList: (match: NonNullable<Rule['match']>) => match is readonly Conditions[] = Array.isArray

function matchFrom(match: Conditions): RuleMatch {
  const result: Record<string, unknown> = {}
  const named = { header: new Map<string, unknown>(), claim: new Map<string, unknown>() }
  for (const [part, wanted] of Object.entries(match)) {
    const [kind, name] = split(part)
    if (kind === 'header' || kind === 'claim') {
      if (named[kind].has(name)) throw invalidRules(`${kind} ${formatValue(name)} is named twice: keep one.`)
      named[kind].set(name, wanted)
    } else {
      result[kind] = wanted
    }
  }
  // fromEntries makes own properties of any name: `__proto__` is a header like any other.
  for (const [kind, wanted] of Object.entries(named)) if (wanted.size > 0) result[kind] = Object.fromEntries(wanted)
  return result
}

/** A selector's kind and name, as policies spell them: header names in lower case, claims by that name. */
function split(selector: string): readonly [kind: string, name: string] {
  const colon = selector.indexOf(':')
  if (colon < 0) return [selector, '']
  const kind = selector.slice(0, colon)
  const name = selector.slice(colon + 1)
  return kind === 'header' ? [kind, name.toLowerCase()] : [kind === 'jwt' ? 'claim' : kind, name]
}

const invalidRules = (message: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', message)

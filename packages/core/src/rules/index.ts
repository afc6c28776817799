export type { Schema } from './json-schema.ts'
export type { RuleKey, RuleMatch, RulePolicy } from './rule-policy.ts'
export { policiesFrom } from './rules.ts'
export { rulesSchema } from './schema.ts'

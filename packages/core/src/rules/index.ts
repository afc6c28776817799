export type { Schema } from './json-schema.ts'
export { policiesFrom, type RuleKey, type RuleMatch, type RulePolicy } from './rules.ts'
export { rulesSchema } from './schema.ts'

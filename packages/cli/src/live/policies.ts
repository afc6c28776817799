import { isDeepStrictEqual } from 'node:util'
import type { RulePolicy } from '@spillway/core/rules'
import { UserError } from '../io.ts'
import { readPolicies } from '../policies.ts'
import { stateName } from './limiter.ts'

/** The policies of files that are in force on one store. Throws a UserError if two of them would count as one. */
export async function livePolicies(paths: readonly string[]): Promise<readonly RulePolicy[]> {
  const files = await readPolicies(paths)
  const seen = new Map<string, { readonly path: string; readonly policy: RulePolicy }>()
  for (const { path, policies } of files) {
    for (const policy of policies) {
      const name = stateName(policy)
      const other = seen.get(name)
      if (other === undefined) seen.set(name, { path, policy })
      else if (!isDeepStrictEqual(other.policy.quota, policy.quota)) throw conflict(name, [other.path, path])
    }
  }
  return files.flatMap(({ policies }) => policies)
}

const conflict = (name: string, paths: readonly string[]): UserError => {
  const where = [...new Set(paths)].join(' and in ')
  return new UserError(
    `${JSON.stringify(name)} has two quotas in ${where}, of which one store has only one: set --policy to the files that are in force.`,
  )
}

import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { inFlight } from '@spillway/core/in-flight'
import { policiesFrom, type RulePolicy } from '@spillway/core/rules'
import { duplicateIn } from './duplicate-names.ts'
import { EXIT } from './exit.ts'
import { UserError, unreadable } from './io.ts'
import { planOf } from './replay/plan.ts'

/** The policies of a file, under a name that is unique among the files. */
export interface PolicyFile {
  readonly path: string
  readonly name: string
  readonly policies: readonly RulePolicy[]
  /** The JSON that they were read from. */
  readonly document: unknown
}

/** Reads files of policies. Throws a UserError with the problems of the first invalid file. */
export async function readPolicies(paths: readonly string[]): Promise<readonly PolicyFile[]> {
  const files: PolicyFile[] = []
  for (const path of paths) {
    const short = basename(path).replace(/\.json$/, '')
    const name = paths.filter((other) => basename(other) === basename(path)).length > 1 ? path : short
    files.push({ path, name, ...policiesIn(path, await textOf(path)) })
  }
  return files
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw unreadable(path, error)
  }
}

function policiesIn(path: string, text: string): Pick<PolicyFile, 'policies' | 'document'> {
  let document: unknown
  try {
    document = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new UserError(`${path} is not JSON: ${(error as Error).message}`, EXIT.failure)
  }
  const twice = duplicateIn(text)
  if (twice !== undefined) throw new UserError(`${path}: ${twice} is named twice: keep one.`, EXIT.failure)
  try {
    const policies = policiesFrom(document, { inFlight })
    for (const policy of policies) checkUsable(policy)
    return { policies, document }
  } catch (error) {
    // The first line names the function: the path of the file is more useful.
    throw new UserError(`${path}: ${(error as Error).message.replace(/^policiesFrom: /, '')}`, EXIT.failure)
  }
}

/** Throws if a policy cannot be used though its rule is valid: a limiter that is built of it checks more. */
function checkUsable(policy: RulePolicy): void {
  try {
    planOf(policy.name, [policy], { maxKeys: 1 })
  } catch (error) {
    throw new Error(`policy ${JSON.stringify(policy.name)}: ${(error as Error).message}`)
  }
}

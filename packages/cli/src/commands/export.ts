import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { formatThrown, setOnPolicies } from '@spillway/core/internal'
import { EXIT } from '../exit.ts'
import { type CodePolicy, ruleFrom } from '../export/rule.ts'
import { type Io, UserError, unreadable } from '../io.ts'

/** Runs a module, and prints the policies of the limiters that it builds, as JSON for `replay`. */
export async function exportPolicies(path: string, io: Io): Promise<number> {
  const file = resolve(path)
  await access(file).catch((error: unknown) => {
    throw unreadable(path, error)
  })
  const found: CodePolicy[] = []
  setOnPolicies((policies) => found.push(...policies))
  printToStandardError()
  const ended = (): void => {
    process.exitCode = EXIT.failure
    process.stderr.write(
      `spillway: ${path} ended the process, or awaits what never comes, before its policies could be printed: name a module that only builds the limiters.\n`,
    )
  }
  process.once('exit', ended)
  try {
    await import(pathToFileURL(file).href)
  } catch (error) {
    throw new UserError(`${path} cannot be run: ${formatThrown(error)}`, EXIT.failure)
  } finally {
    process.off('exit', ended)
  }
  if (found.length === 0) {
    throw new UserError(`${path} builds no limiter: name the module that calls rateLimit.`, EXIT.failure)
  }
  const names = new Set<string>()
  const rules = found.map((policy) => {
    const name = freeName(String(policy.name ?? 'default'), names)
    names.add(name)
    return ruleFrom(policy, name)
  })
  io.stdout.write(`${JSON.stringify({ rules }, null, 2)}\n`)
  return EXIT.ok
}

/** A module may print while it runs, which must not become a part of the JSON. */
function printToStandardError(): void {
  const { stderr } = process
  process.stdout.write = stderr.write.bind(stderr)
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let i = 1; ; i++) {
    const wanted = i === 1 ? name : `${name} ${i}`
    if (!taken.has(wanted)) return wanted
  }
}

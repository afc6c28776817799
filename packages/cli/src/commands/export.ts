import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { formatThrown, setOnPolicies } from '@spillway/core/internal'
import { EXIT } from '../exit.ts'
import { documentOf } from '../export/document.ts'
import type { CodePolicy } from '../export/rule.ts'
import { type Io, UserError, unreadable } from '../io.ts'

/** The options of `export`. */
export interface ExportOptions {
  /** The seconds after which a module that is still loading fails. */
  readonly timeout: number
}

/** Runs a module, and prints the policies of the limiters that it builds, as JSON for `replay`. */
export async function exportPolicies(path: string, { timeout }: ExportOptions, io: Io): Promise<number> {
  const file = resolve(path)
  await access(file).catch((error: unknown) => {
    throw unreadable(path, error)
  })
  const found: (readonly CodePolicy[])[] = []
  setOnPolicies((policies) => found.push(policies))
  printToStandardError()
  const ended = (): void => {
    process.exitCode = EXIT.failure
    process.stderr.write(
      `spillway: ${path} ended the process, or awaits what never comes, before its policies could be printed: name a module that only builds the limiters.\n`,
    )
  }
  process.once('exit', ended)
  try {
    await Promise.race([load(path, file), expiry(path, timeout)])
  } finally {
    process.off('exit', ended)
  }
  if (found.length === 0) {
    throw new UserError(`${path} builds no limiter: name the module that calls rateLimit.`, EXIT.failure)
  }
  io.stdout.write(`${JSON.stringify(documentOf(found), null, 2)}\n`)
  return EXIT.ok
}

const load = (path: string, file: string): Promise<unknown> =>
  import(pathToFileURL(file).href).catch((error: unknown) => {
    throw new UserError(`${path} cannot be run: ${formatThrown(error)}`, EXIT.failure)
  })

/** Rejects after some seconds. The timer alone keeps no process running. */
const expiry = (path: string, seconds: number): Promise<never> =>
  new Promise((_, reject) => {
    const late = `${path} has not been loaded within ${seconds} s: does it await a connection? Name a module that only builds the limiters, or set --timeout.`
    setTimeout(() => reject(new UserError(late, EXIT.failure)), 1000 * seconds).unref()
  })

/** A module may print while it runs, which must not become a part of the JSON. */
function printToStandardError(): void {
  const { stderr } = process
  process.stdout.write = stderr.write.bind(stderr)
}

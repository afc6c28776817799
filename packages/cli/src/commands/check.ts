import { EXIT } from '../exit.ts'
import { sentenceOf } from '../explain/sentence.ts'
import { type Trap, trapsIn } from '../explain/traps.ts'
import { count } from '../format.ts'
import { type Io, painter, UserError } from '../io.ts'
import { NOTES, type ServerReport, serverAt } from '../live/server.ts'
import { type PolicyFile, readPolicies } from '../policies.ts'

export interface CheckOptions {
  readonly json?: boolean
  readonly strict?: boolean
  readonly redis?: string
  readonly prefix?: string
}

interface Checked {
  readonly file: string
  readonly valid: boolean
  readonly error?: string
  readonly policies?: readonly {
    readonly name: string
    readonly sentence: string
    readonly traps: readonly Omit<Trap, 'policy'>[]
  }[]
}

/**
 * Validates files of policies and a server, and describes them. Returns 1 if one fails, or with `strict` if there are
 * traps; otherwise 0.
 */
export async function check(paths: readonly string[], options: CheckOptions, io: Io): Promise<number> {
  const { json, strict, redis, prefix } = options
  if (paths.length === 0 && redis === undefined) {
    throw new UserError('there is nothing to check: name a file of policies, or a server with --redis.')
  }
  if (prefix !== undefined && redis === undefined) {
    throw new UserError('--prefix is that of a server: name the server with --redis, or leave out --prefix.')
  }
  const files: Checked[] = []
  for (const path of paths) files.push(await checkFile(path))
  const server = redis === undefined ? undefined : await serverAt(redis, prefix)
  const traps = [
    ...files.flatMap(({ policies = [] }) => policies.flatMap(({ traps }) => traps)),
    ...(server?.traps ?? []),
  ]
  const invalid = files.some(({ valid }) => !valid) || server?.error !== undefined
  const fails = invalid || (strict === true && traps.some(({ code }) => code !== 'shadow' && !NOTES.includes(code)))
  const paint = painter(io.stdout, io.env)
  const blocks = [...files.map((file) => textOf(file, paint)), ...(server ? [serverText(server, paint)] : [])]
  io.stdout.write(
    json
      ? `${JSON.stringify({ ok: !fails, files, ...(server && { server }) }, null, 2)}\n`
      : `${blocks.join('\n\n')}\n`,
  )
  return fails ? EXIT.failure : EXIT.ok
}

async function checkFile(path: string): Promise<Checked> {
  try {
    const [file] = await readPolicies([path])
    return { file: path, valid: true, policies: explained(file as PolicyFile) }
  } catch (error) {
    // A missing file is an error of the command line, not an invalid file.
    if (error instanceof UserError && error.exitCode === 1) return { file: path, valid: false, error: error.message }
    throw error
  }
}

function explained({ policies }: PolicyFile): NonNullable<Checked['policies']> {
  const traps = trapsIn(policies)
  return policies.map((policy) => ({
    name: policy.name,
    sentence: sentenceOf(policy),
    traps: traps.filter((trap) => trap.policy === policy.name).map(({ code, message }) => ({ code, message })),
  }))
}

type Paint = ReturnType<typeof painter>

function textOf({ file, error, policies = [] }: Checked, paint: Paint): string {
  if (error !== undefined) return `${paint('red', '✗')} ${error}`
  const lines = policies.flatMap(({ name, sentence, traps }) => [
    `  ${paint('cyan', name)}  ${sentence}`,
    ...traps.map((trap) => trapText(trap, paint)),
  ])
  return [`${paint('green', '✓')} ${file}`, ...lines].join('\n')
}

function serverText({ redis, version, maxmemory, maxmemoryPolicy, error, traps }: ServerReport, paint: Paint): string {
  const memory = maxmemory === null ? 'unknown' : maxmemory === 0 ? '0 (no limit)' : count(maxmemory)
  return [
    error === undefined ? `${paint('green', '✓')} ${redis}` : `${paint('red', '✗')} ${redis} limits no key: ${error}`,
    `  ${version ?? 'version unknown'}, maxmemory ${memory}, maxmemory-policy ${maxmemoryPolicy ?? 'unknown'}`,
    ...traps.map((trap) => trapText(trap, paint)),
  ].join('\n')
}

const trapText = ({ code, message }: Omit<Trap, 'policy'>, paint: Paint): string =>
  `    ${paint('yellow', `! ${code}`)}: ${message}`

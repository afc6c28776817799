import { sentenceOf } from '../explain/sentence.ts'
import { type Trap, trapsIn } from '../explain/traps.ts'
import { type Io, painter, UserError } from '../io.ts'
import { type PolicyFile, readPolicies } from '../policies.ts'

export interface CheckOptions {
  readonly json?: boolean
  readonly strict?: boolean
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

/** Validates files of policies and explains them: 1 if one is invalid, or if `strict` and there are traps; else 0. */
export async function check(paths: readonly string[], { json, strict }: CheckOptions, io: Io): Promise<number> {
  const checked: Checked[] = []
  for (const path of paths) checked.push(await checkFile(path))
  const traps = checked
    .flatMap(({ policies = [] }) => policies.flatMap(({ traps }) => traps))
    .filter(({ code }) => code !== 'shadow')
  const fails = checked.some(({ valid }) => !valid) || (strict === true && traps.length > 0)
  io.stdout.write(
    json ? `${JSON.stringify({ ok: !fails, files: checked }, null, 2)}\n` : textOf(checked, painter(io.stdout, io.env)),
  )
  return fails ? 1 : 0
}

async function checkFile(path: string): Promise<Checked> {
  try {
    const [file] = await readPolicies([path])
    return { file: path, valid: true, policies: explained(file as PolicyFile) }
  } catch (error) {
    // A file that is not there is no invalid file.
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

function textOf(checked: readonly Checked[], paint: ReturnType<typeof painter>): string {
  const blocks = checked.map(({ file, error, policies = [] }) => {
    if (error !== undefined) return `${paint('red', '✗')} ${error}`
    const lines = policies.flatMap(({ name, sentence, traps }) => [
      `  ${paint('cyan', name)}  ${sentence}`,
      ...traps.map(({ code, message }) => `    ${paint('yellow', `! ${code}`)}: ${message}`),
    ])
    return [`${paint('green', '✓')} ${file}`, ...lines].join('\n')
  })
  return `${blocks.join('\n\n')}\n`
}

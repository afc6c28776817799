import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from '../src/index.ts'
import { type Entry, isList, type Parsed } from '../src/log/entry.ts'

/** The result of a run of the program. */
export interface Ran {
  readonly exitCode: number
  readonly out: string
  readonly err: string
}

export interface Setting {
  readonly stdin?: Readable
  readonly isTTY?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Runs the program with streams that record. */
export async function spillway(
  args: readonly string[],
  { stdin, isTTY = false, env = {} }: Setting = {},
): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []]
  const exitCode = await run(args, {
    stdin: stdin ?? Readable.from([]),
    stdout: { isTTY, columns: 80, write: (text) => out.push(text) },
    stderr: { isTTY, columns: 80, write: (text) => err.push(text) },
    env,
  })
  return { exitCode, out: out.join(''), err: err.join('') }
}

/** A folder of files, to be removed at the end. */
export function folderOf(files: Readonly<Record<string, string | Buffer>>): {
  path: (name: string) => string
  remove: () => void
} {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-cli-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return { path: (name) => join(folder, name), remove: () => rmSync(folder, { recursive: true }) }
}

export const bucket = (name: string, config: object, more: object = {}): object => ({
  name,
  limit_keys: ['ip'],
  algorithm: 'token_bucket',
  algorithm_config: config,
  ...more,
})

/** The requests that a line was read as. */
export function entriesIn(parsed: Parsed): readonly Entry[] {
  if (typeof parsed !== 'object') return []
  return isList(parsed) ? parsed.map(({ entry }) => entry) : [parsed]
}

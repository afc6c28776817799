import { open, stat, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { EXIT } from '../exit.ts'
import { UserError } from '../io.ts'

// The files that a user names for results.

/** A file that is written while a log is read; errors are thrown at the end. */
interface OutFile {
  write(text: string): void
  end(): Promise<void>
}

/** Throws a UserError if results would overwrite a file that is read, or each other. */
export async function checkOutputs(outputs: readonly (string | undefined)[], inputs: readonly string[]): Promise<void> {
  const used = await Promise.all(inputs.map(idOf))
  for (const output of outputs.filter((path) => path !== undefined)) {
    const id = await idOf(output)
    if (used.includes(id)) throw new UserError(`${output} is used twice: write the results to a file of their own.`)
    used.push(id)
  }
}

/** The same value for one file under two names. Devices and standard input differ from all others. */
async function idOf(path: string): Promise<unknown> {
  const stats = await stat(path).catch(() => undefined)
  if (stats === undefined) return resolve(path)
  return stats.isFile() ? `${stats.dev}:${stats.ino}` : {}
}

/** Opens a file that is written in parts. Throws a UserError if that fails. */
export async function fileOf(path: string): Promise<OutFile> {
  const handle = await open(path, 'w').catch((error: unknown) => {
    throw unwritable(path, error)
  })
  const stream = handle.createWriteStream()
  let failure: unknown
  stream.on('error', (error) => {
    failure ??= error
  })
  return {
    write: (text) => {
      if (failure === undefined) stream.write(text)
    },
    end: () =>
      new Promise((resolve, reject) => {
        stream.once('close', () => (failure === undefined ? resolve() : reject(unwritable(path, failure))))
        if (failure === undefined) stream.end()
        else stream.destroy()
      }),
  }
}

/** Writes a file as a whole. Throws a UserError if that fails. */
export async function written(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: unknown) => {
    throw unwritable(path, error)
  })
}

const unwritable = (path: string, error: unknown): UserError =>
  new UserError(`${path} cannot be written: ${(error as Error).message}`, EXIT.failure)

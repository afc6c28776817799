import { open, writeFile } from 'node:fs/promises'
import { EXIT } from '../exit.ts'
import { UserError } from '../io.ts'

// The files that a user names for results.

/** A file that is written while a log is read; errors are thrown at the end. */
interface OutFile {
  write(text: string): void
  end(): Promise<void>
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

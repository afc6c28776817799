import type { ChildProcess } from 'node:child_process'

/** The next message of a process. Rejects if it fails or ends before. */
export function answerOf<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`${name} ended without a result, with code ${code}`))
    child.once('error', reject)
    child.once('exit', ended)
    child.once('message', (answer) => {
      child.off('error', reject)
      child.off('exit', ended)
      resolve(answer as T)
    })
  })
}

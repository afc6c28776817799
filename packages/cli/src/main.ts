#!/usr/bin/env node
import { run } from './cli.ts'
import { EXIT } from './exit.ts'

const fail = (error: Error): never => {
  process.stderr.write(`spillway: ${error.message}\n`)
  process.exit(EXIT.failure)
}
process.on('uncaughtException', fail)
// The reader of the output may stop early, as in `spillway … | head`; the exit code must still be right.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') fail(error)
})
process.exitCode = await run(process.argv.slice(2), process)

#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { run } from '../cli.ts'
import { EXIT } from '../exit.ts'

const { stdin, stdout, stderr, env } = process
const fail = (error: Error): never => {
  stderr.write(`spillway: ${error.message}\n`)
  process.exit(EXIT.failure)
}
process.on('uncaughtException', fail)
// The reader of the output may stop early, as in `spillway … | head`; the exit code must still be right.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') fail(error)
})
// This module is as deep in its folder as the CommonJS module that is made of it.
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const write = stdout.write.bind(stdout)
const { isTTY, columns } = stdout
// An exported application may have started a server, which would keep the process running.
const exit = (code: number): boolean => write('', () => setImmediate(() => process.exit(code)))
// A CommonJS module cannot await.
run(process.argv.slice(2), { stdin, stdout: { write, isTTY, columns }, stderr, env, version }).then(exit, fail)

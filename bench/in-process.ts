// One app and its requests in one process, over a socket in memory: `in-process.ts FRAMEWORK NAME BLOCKS REQUESTS`. After each
// block of requests, cachegrind reports the instructions so far.

import { spawnSync } from 'node:child_process'
import type { Server } from 'node:http'
import { type App, apps } from './apps.ts'
import { Line } from './line.ts'

/** Forks the process. The copy ends at once, because there is no such program, and cachegrind reports its count. */
const report = (): unknown => spawnSync('/no/such/program')

async function serve(server: Server, blocks: number, requests: number): Promise<void> {
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
  const line = new Line('127.0.0.2')
  server.emit('connection', line)
  for (let block = 0; block < blocks; block++) {
    for (let left = requests; left > 0; left--) await line.request()
    report()
  }
}

const [framework = '', name = '', blocks, requests] = process.argv.slice(2)
const app = (apps as Readonly<Record<string, Readonly<Record<string, App>>>>)[framework]?.[name]
if (!app) throw new RangeError(`no app ${name} in ${framework}`)
await serve(await app(), Number(blocks), Number(requests))
process.exit(0)

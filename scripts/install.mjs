// How scripts run and install programs. Only Node's own modules here: nothing is installed yet.

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** @param {string} text */
export const say = (text) => console.log(`spillway: ${text}`)

/**
 * Runs a program to its end; throws unless it succeeds.
 * @param {string} program @param {string[]} args @param {NodeJS.ProcessEnv} [env] @param {string} [cwd]
 */
export function run(program, args, env = {}, cwd = root) {
  const { error, status } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32', // npx is a .cmd there
  })
  if (error || status !== 0) throw new Error(`\`${program} ${args.join(' ')}\` failed: ${error?.message ?? status}`)
}

/** @param {string[]} names @param {string[]} folders */
export function find(names, folders) {
  const paths = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return paths.find((path) => existsSync(path))
}

export const onPath = () => [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), '/usr/local/bin']

export const onDebianAsRoot = () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')

/**
 * Installs a Debian package without starting what it brings: our tests start their own servers, on free ports.
 * Debian asks /usr/sbin/policy-rc.d before it starts a service; 101 means no. One that is there already is left alone.
 * Another process may be installing, such as an unattended upgrade: apt waits 300 s for it instead of failing at once.
 * @param {string} name
 */
export function aptInstall(name) {
  say(`installing Debian's ${name} (apt-get; its service is not started)`)
  const policy = '/usr/sbin/policy-rc.d'
  const ours = !existsSync(policy)
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n')
  if (ours) chmodSync(policy, 0o755)
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  const wait = ['-o', 'DPkg::Lock::Timeout=300']
  try {
    run('apt-get', [...wait, 'update', '-qq'], env)
    run('apt-get', [...wait, 'install', '-y', '-qq', '--no-install-recommends', name], env)
  } finally {
    if (ours) rmSync(policy)
  }
}

/**
 * What `look` finds, at once or after an installation; throws if neither does.
 * @template T @param {() => T | undefined} look @param {() => void} install @param {string} missing @returns {T}
 */
export function ensured(look, install, missing) {
  const found = look()
  if (found) return found
  install()
  const installed = look()
  if (installed) return installed
  throw new Error(missing)
}

/** Where Debian's packages can be installed, installs this one. @param {string} name */
export const fromDebian = (name) => () => {
  if (onDebianAsRoot()) aptInstall(name)
}

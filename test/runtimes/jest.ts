import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMPILERS, versionOf } from './project.ts'

// A user's tests, in Jest and with the transforms that most projects have, with no other configuration.

const body = (types: string) => `
test('denies the second request', async () => {
  const app = express().use(rateLimit({ quota: perMinute(1) }), (_req, res) => { res.end() })
  const server = await new Promise${types}((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  const { port } = server.address()${types && ' as AddressInfo'}
  const statuses = [await fetch('http://127.0.0.1:' + port), await fetch('http://127.0.0.1:' + port)]
  expect(statuses.map(({ status }) => status)).toEqual([200, 429])
  expect(typeof compat.rateLimit).toBe('function')
  server.close()
})
`

const IMPORTS = `
import { perMinute, rateLimit } from '@spillway/express'
import * as compat from '@spillway/express/compat'
import express from 'express'
`

const REQUIRES = `
const { perMinute, rateLimit } = require('@spillway/express')
const compat = require('@spillway/express/compat')
const express = require('express')
`

const TYPES = `
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
`

const TSCONFIG = {
  module: 'commonjs',
  moduleResolution: 'node10',
  target: 'es2022',
  esModuleInterop: true,
  strict: true,
}
const BABEL = { presets: [['@babel/preset-env', { targets: { node: 'current' } }]] }

/** The files of a project per runner. */
const PROJECTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Jest 30': { 'app.test.js': `${REQUIRES}${body('')}` },
  'ts-jest': {
    'app.test.ts': `${TYPES}${IMPORTS}${body('<Server>')}`,
    'jest.config.json': JSON.stringify({ preset: 'ts-jest' }),
    'tsconfig.json': JSON.stringify({ compilerOptions: TSCONFIG }),
  },
  'babel-jest': { 'app.test.js': `${IMPORTS}${body('')}`, 'babel.config.json': JSON.stringify(BABEL) },
}

/** The runners in which a user's tests pass, and what went wrong. */
export function inJest(folder: string, tarballs: ReadonlyMap<string, string>) {
  const cwd = join(folder, 'jest')
  mkdirSync(cwd)
  const dependencies = {
    ...Object.fromEntries(['core', 'express', 'memory'].map((name) => [`@spillway/${name}`, tarballs.get(name)])),
    ...Object.fromEntries(['express', '@types/express', 'jest'].map((name) => [name, versionOf(name)])),
    ...{ '@babel/core': '7', '@babel/preset-env': '7', '@types/jest': '30', 'babel-jest': '30', 'ts-jest': '29' },
    typescript: COMPILERS['typescript-5'],
  }
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ private: true, dependencies }))
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { cwd, stdio: 'pipe', encoding: 'utf8', shell: process.platform === 'win32' })
  run('npm', 'install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error')
  const [runners, failures]: [string[], string[]] = [[], []]
  for (const [name, files] of Object.entries(PROJECTS)) {
    const project = join(cwd, name)
    mkdirSync(project)
    const all = { 'jest.config.json': '{}', ...files }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(project, file), text)
    try {
      run('node', 'node_modules/jest/bin/jest.js', '--rootDir', project, '--config', join(project, 'jest.config.json'))
      runners.push(name)
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return { runners, failures }
}

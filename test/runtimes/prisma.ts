import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { versionOf } from './project.ts'
import type { Registry } from './registry.ts'
import { type Runtime, suitesIn } from './runtimes.ts'

// Prisma's client is generated, by a program that is larger than all else here: an app of its own.

const run = promisify(execFile)

const VERSION = '7.10.0'

/** Without the engine in Rust, which Prisma 7 no longer needs. */
const SCHEMA = `
generator client {
  provider = "prisma-client"
  output   = "./generated"
}
datasource db {
  provider = "postgresql"
}
model Unused {
  id Int @id
}
`

const CLIENT = `
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.ts'
export const prisma = new PrismaClient({ adapter: new PrismaPg({}) })
`

/** Runs the store suite through Prisma, in Node; what went wrong. */
export async function inPrisma(folder: string, registry: Registry, node: Runtime, env: NodeJS.ProcessEnv) {
  const cwd = join(folder, 'by Prisma')
  mkdirSync(cwd)
  const dependencies = {
    ...Object.fromEntries(['conformance', 'core', 'postgres'].map((name) => [`@spillway/${name}`, 'latest'])),
    ...Object.fromEntries(['@prisma/adapter-pg', '@prisma/client', 'prisma'].map((name) => [name, VERSION])),
    pg: versionOf('pg'),
  }
  const files = { 'package.json': JSON.stringify({ private: true, dependencies }), 'schema.prisma': SCHEMA }
  for (const [file, text] of Object.entries({ ...registry.files, ...files })) writeFileSync(join(cwd, file), text)
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd })
  // Prisma would download what it migrates with, even where it only generates.
  const noEngine = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: node.program }
  await run('npx', ['prisma', 'generate', '--schema', 'schema.prisma'], { cwd, env: noEngine })
  const options = { bundle: true, packages: 'external', platform: 'node', format: 'esm', absWorkingDir: cwd } as const
  const stdin = { contents: CLIENT, resolveDir: cwd, loader: 'ts' } as const
  await build({ ...options, stdin, outfile: 'prisma.mjs' })
  const program = fileURLToPath(new URL('prisma-suite.ts', import.meta.url))
  await build({ ...options, entryPoints: [program], outfile: 'suite.mjs' })
  const outcomes = await suitesIn(node, cwd, 'suite.mjs', env)
  return outcomes.flatMap(({ suite, failed }) => failed.map((what) => `Prisma ${VERSION}, ${suite}: ${what}`))
}

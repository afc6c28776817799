import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { names, packAll, readManifest, root } from './pack.ts'
import { inNode, starts } from './start.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of an app that has every package, from its tarball, and what they depend on; no framework or client. */
    bare: string
    /** The same, with frameworks and clients. */
    app: string
    /** The same, with the oldest frameworks that the packages support. */
    oldest: string
    /** Where the tarball of each package lies. */
    tarballs: Readonly<Record<string, string>>
  }
}

/** Where an app has a package; its node_modules leads there. */
export const installed = (app: string, name: string): string => join(app, 'packages', name)

/** What can be imported from a package: its name, the path in it, and the declarations that are found there. */
export interface Entry {
  readonly name: string
  readonly path: string
  readonly specifier: string
  readonly types: string
}

/** What imports a module that only Workers have. */
export const forWorkersOnly = ({ specifier }: Entry): boolean => specifier === '@spillway/cloudflare/object'

/** The entries for users. What only our packages import from each other has no declarations. */
export function entriesOf(app: string): readonly Entry[] {
  return names.flatMap((name) =>
    Object.entries(readManifest(installed(app, name)).exports)
      .filter(([path]) => path !== './internal')
      .map(([path, target]) => ({
        name,
        path,
        specifier: `@spillway/${name}${path.slice(1)}`,
        types: join(installed(app, name), (target as { default: { types: string } }).default.types),
      })),
  )
}

/** Makes what the workspace has for a kind of dependency of its packages visible to an app. */
function linkAll(app: string, kind: 'dependencies' | 'peerDependencies'): void {
  for (const name of names) {
    const folder = join(root, 'packages', name)
    for (const dependency of Object.keys(readManifest(folder)[kind] ?? {})) {
      if (!dependency.startsWith('@spillway/')) link(app, dependency, join(folder, 'node_modules', dependency))
    }
  }
}

/** The oldest frameworks and their types, by the names under which the workspace has them. */
const OLDEST: Readonly<Record<string, string>> = {
  '@types/express': '@types/express-4',
  '@types/koa': '@types/koa-2',
  elysia: 'elysia-1',
  express: 'express-4',
  fastify: 'fastify-5',
  h3: 'h3-2',
  hono: 'hono-4',
  koa: 'koa-2',
}

function link(app: string, dependency: string, from: string): void {
  const path = join(app, 'node_modules', dependency)
  if (existsSync(path)) return
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(from, path, 'junction')
}

function install(app: string, tarballs: ReadonlyMap<string, string>): void {
  for (const [name, tarball] of tarballs) {
    mkdirSync(installed(app, name), { recursive: true })
    execFileSync('tar', ['-xzf', tarball, '-C', installed(app, name), '--strip-components=1'])
    link(app, `@spillway/${name}`, installed(app, name))
  }
  writeFileSync(join(app, 'package.json'), '{}')
  linkAll(app, 'dependencies')
}

/** Makes the apps, once for all test files. */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-packages-'))
  const tarballs = packAll(folder)
  const [bare, app, oldest] = [join(folder, 'bare'), join(folder, 'app'), join(folder, 'oldest')]
  install(bare, tarballs)
  // Of frameworks and clients only types are imported, but for these.
  link(bare, '@opentelemetry/api', join(root, 'packages/opentelemetry/node_modules/@opentelemetry/api'))
  for (const name of ['common', 'core']) {
    link(bare, `@nestjs/${name}`, join(root, 'packages/nestjs/node_modules/@nestjs', name))
  }
  install(oldest, tarballs)
  for (const [name, alias] of Object.entries(OLDEST)) link(oldest, name, join(root, 'node_modules', alias))
  install(app, tarballs)
  for (const each of [app, oldest]) {
    linkAll(each, 'peerDependencies')
    link(each, '@types/node', join(root, 'node_modules/@types/node'))
  }
  for (const name of starts().flatMap((start) => inNode(start).packages)) {
    link(app, name, join(root, 'test/node_modules', name))
  }
  project.provide('bare', bare)
  project.provide('app', app)
  project.provide('oldest', oldest)
  project.provide('tarballs', Object.fromEntries(tarballs))
  return () => rmSync(folder, { recursive: true, force: true })
}

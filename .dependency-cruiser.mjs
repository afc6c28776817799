// Who may import whom. `npm run rules` checks it; test/import-rules.test.ts proves that every rule bites.

import { builtinModules } from 'node:module'

/** @param {string[]} names */
const src = (...names) => `^packages/(${names.join('|')})/src/`
/** @param {string[]} names */
const npm = (...names) => `node_modules/(@types/)?(${names.join('|')})/`

/**
 * The sources of a package import themselves and what is allowed here: nothing else, whether it is there or not.
 * @param {string} name @param {string[]} allowed @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const only = (name, ...allowed) => ({
  name: `${name}-imports`,
  comment: `packages/${name}/src may import only itself${allowed.map((path) => ` and ${path}`).join('')}`,
  severity: 'error',
  from: { path: src(name) },
  to: { pathNot: [src(name), ...allowed] },
})

/**
 * The framework is the user's: an adapter knows its types and runs none of its code.
 * @param {string} name @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const typesOnly = (name) => ({
  name: `${name}-types-only`,
  comment: `write \`import type { … } from '${name}'\`: the framework is the user's`,
  severity: 'error',
  from: { path: src(name) },
  to: { path: npm(name), dependencyTypesNot: ['type-only'] },
})

/** Folders of core that are built on each other: a file imports those of its own folder and of the folders before it. */
export const layers = {
  'packages/core/src': [
    'common',
    'kernels',
    'quotas',
    'decisions',
    'steps',
    'algorithms',
    'builders',
    'stores',
    'policies',
    'checks',
    'remote',
    'limiter',
    'wrappers',
  ],
  'packages/core/src/http': ['requests', 'addresses', 'headers', 'pipeline', 'node'],
}

/** The features of core, each with those that it may import. */
/** @type {Readonly<Record<string, readonly string[]>>} */
export const features = {
  answers: [],
  'any-quota': [],
  blocks: ['several'],
  'by-key': ['blocks', 'quotas-by-request', 'selectors', 'shadow', 'spill'],
  costs: ['selectors'],
  events: [],
  'header-forms': [],
  hints: [],
  matching: ['selectors'],
  partitions: [],
  'quotas-by-request': [],
  selectors: [],
  settling: [],
  several: ['matching'],
  shadow: ['blocks', 'events', 'several'],
  spill: ['blocks'],
  stores: [],
  'trusted-proxies': [],
  waiting: ['stores'],
}

/**
 * A feature knows no other that it does not declare.
 * @param {[name: string, needs: readonly string[]]} feature @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const apart = ([name, needs]) => ({
  name: `feature-${name}`,
  comment: `the feature ${name} may import only itself${needs.map((each) => ` and ${each}`).join('')}: declare what it needs`,
  severity: 'error',
  from: { path: `^packages/core/src/features/${name}/` },
  to: { path: '^packages/core/src/features/', pathNot: `^packages/core/src/features/(${[name, ...needs].join('|')})/` },
})

/**
 * Each folder knows those that it is built on, and not what is built on it.
 * @param {[root: string, folders: string[]]} layered @returns {import('dependency-cruiser').IForbiddenRuleType[]}
 */
const onTop = ([root, folders]) =>
  folders.map((name, i) => ({
    name: `core${root.endsWith('/http') ? '-http' : ''}-${name}`,
    comment: `in ${root}, ${name} may import only itself${folders
      .slice(0, i)
      .map((below) => ` and ${below}`)
      .join('')}`,
    severity: 'error',
    from: { path: `^${root}/${name}/` },
    to: { path: `^${root}/`, pathNot: `^${root}/(${folders.slice(0, i + 1).join('|')})/` },
  }))

// A program on Node may use whatever Node has.
const builtin = `^(${builtinModules.join('|')})$`

/** @type {import('dependency-cruiser').IConfiguration & { forbidden: object[] }} */
export default {
  forbidden: [
    only('core'),
    only('memory', src('core')),
    only('redis', src('core'), npm('ioredis', 'redis', '@redis/[^/]+'), '^(crypto|events)$'),
    only('postgres', src('core'), npm('pg', '@electric-sql/pglite'), '^crypto$'),
    only('express', src('core', 'memory'), npm('express'), '^(crypto|http|net)$'),
    only('node', src('core', 'memory'), '^(http2?|stream)$'),
    only('koa', src('core', 'memory'), npm('koa')),
    only('hono', src('core', 'memory'), npm('hono')),
    only('fastify', src('core', 'memory'), npm('fastify')),
    only('fetch', src('core', 'memory')),
    only('h3', src('core', 'memory'), npm('h3')),
    only('elysia', src('core', 'memory'), npm('elysia')),
    only('nestjs', src('core', 'memory'), npm('@nestjs/common', '@nestjs/core')),
    only('cli', src('core', 'memory', 'redis', 'postgres'), npm('commander', 'ioredis', 'pg'), builtin),
    only('cloudflare', src('core'), '^cloudflare:workers$'),
    only('admin', src('core')),
    only('plans', src('core'), npm('lru-cache')),
    only('opentelemetry', src('core'), npm('@opentelemetry/api'), '^diagnostics_channel$'),
    only('conformance', src('core'), npm('fast-check'), '^(assert(/strict)?|async_hooks|http2?|net)$'),
    only('simulation', src('core', 'fetch', 'postgres', 'redis'), builtin),
    typesOnly('express'),
    typesOnly('koa'),
    typesOnly('hono'),
    typesOnly('fastify'),
    typesOnly('h3'),
    typesOnly('elysia'),
    ...Object.entries(layers).flatMap(onTop),
    ...Object.entries(features).map(apart),
    {
      name: 'http-on-top',
      comment: 'in core, src/http knows the rest and the rest does not know it',
      severity: 'error',
      from: { path: '^packages/core/src/(?!http/|features/)' },
      to: { path: '^packages/core/src/http/' },
    },
    {
      name: 'features-on-top',
      comment: 'the pipeline knows seams, never a feature: only the entries of core install features',
      severity: 'error',
      from: { path: '^packages/core/src/(?!features/|http/(index|lean)[.]ts)' },
      to: { path: '^packages/core/src/features/' },
    },
    {
      name: 'lean-without-remote',
      comment: 'a lean limiter in memory has nothing of what only remote stores need, by whatever way',
      severity: 'error',
      from: { path: '^packages/core/src/limiter/lean-limiter\\.ts$' },
      to: { path: '^packages/core/src/remote/', reachable: true },
    },
    {
      name: 'lean-redis-without-features',
      comment: 'a lean Redis store has the algorithms and layers that an app names, and no other, by whatever way',
      severity: 'error',
      from: { path: '^packages/redis/src/lean-store\\.ts$' },
      to: {
        path: '^packages/redis/src/(algorithms/(?!algorithm\\.ts)|lua/(?!take\\.ts)|(client-mistakes|features|glide|layers|listing|scan)\\.ts)',
        reachable: true,
      },
    },
    {
      name: 'packages-by-name',
      comment: "another package is imported by its name, never by a path into its folder: '@spillway/core'",
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^packages/', pathNot: '^packages/$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'packages-by-name-outside',
      comment:
        "a package is imported by its name, never by a path into its folder: '@spillway/core'. A proof reads the text of a kernel, which no package exports",
      severity: 'error',
      from: { path: '^(test|examples|bench|demo|site)/', pathNot: '^test/proofs/' },
      to: { path: '^packages/', dependencyTypes: ['local'] },
    },
    {
      name: 'no-cycles',
      comment: 'modules that import each other cannot be understood, or loaded, one at a time',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      comment: 'not installed here, not among the exports of its package, or no module of Workers',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^cloudflare:' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // What is built, also while the site is being built beside this check.
    exclude: { path: '/(build|dist)/|^site/\\.vitepress/\\.temp/' },
    tsPreCompilationDeps: true, // sees imports of types too
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
  },
}

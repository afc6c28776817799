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
  from: { path: src(name, 'shed') },
  to: { path: npm(name), dependencyTypesNot: ['type-only'] },
})

/** The folders of core, each with its neighbours: those that it may import. */
/** @type {Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>} */
export const neighbours = {
  'packages/core/src': {
    common: [],
    kernels: ['common'],
    algorithms: ['common', 'kernels'],
    stores: ['common', 'kernels', 'algorithms'],
    policies: ['common', 'kernels', 'algorithms', 'stores'],
    remote: ['common', 'kernels', 'algorithms', 'stores', 'policies'],
    limiter: ['common', 'kernels', 'algorithms', 'stores', 'policies', 'remote'],
    wrappers: ['common', 'kernels', 'algorithms', 'stores', 'policies', 'remote', 'limiter'],
    rules: ['common', 'algorithms', 'policies'],
    http: ['common', 'algorithms', 'stores', 'policies', 'features'],
    features: ['common', 'algorithms', 'stores', 'policies', 'remote', 'limiter', 'http'],
  },
  // Beside what all algorithms share.
  'packages/core/src/algorithms': {
    bucket: [],
    window: ['bucket'],
    log: [],
    'warm-up': ['bucket'],
    penalty: [],
    slots: [],
  },
  'packages/core/src/http': {
    requests: [],
    addresses: ['requests'],
    headers: ['requests'],
    pipeline: ['requests', 'addresses', 'headers'],
    node: ['requests', 'headers', 'pipeline'],
  },
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
  slots: ['settling'],
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
 * The name of the rule of a folder: `core-http` of http, `core-http-node` of http/node.
 * @param {string} root @param {string} folder
 */
export const ruleOf = (root, folder) =>
  `${root.replace(/^packages\/|src\/?/g, '').replaceAll('/', '-')}-${folder}`.replace('--', '-')

/**
 * A folder knows its neighbours, and no other.
 * @param {[root: string, folders: Readonly<Record<string, readonly string[]>>]} listed
 * @returns {import('dependency-cruiser').IForbiddenRuleType[]}
 */
const onlyNeighbours = ([root, folders]) =>
  Object.entries(folders).map(([name, known]) => ({
    name: ruleOf(root, name),
    comment: `in ${root}, ${name} may import only itself${known.map((each) => ` and ${each}`).join('')}`,
    severity: 'error',
    from: { path: `^${root}/${name}/` },
    to: {
      path: `^${root}/`,
      pathNot: [
        `^${root}/(${[name, ...known].join('|')})/`,
        ...(root.endsWith('/algorithms') ? [`^${root}/[^/]+$`] : []),
      ],
    },
  }))

// A program on Node may use whatever Node has.
const builtin = `^(${builtinModules.join('|')})$`

/** @type {import('dependency-cruiser').IConfiguration & { forbidden: object[] }} */
export default {
  forbidden: [
    only('core'),
    only('memory', src('core')),
    only('redis', src('core'), npm('ioredis', 'redis', '@redis/[^/]+'), '^(crypto|events)$'),
    only('stores', src('core')),
    only('sqlite', src('core', 'stores')),
    only('postgres', src('core', 'stores'), npm('pg', '@electric-sql/pglite'), '^crypto$'),
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
    only('client', src('core'), npm('undici')),
    only('shed', src('core'), npm('@nestjs/common', '@nestjs/core', 'elysia', 'fastify', 'h3', 'hono', 'koa')),
    only('opentelemetry', src('core'), npm('@opentelemetry/api'), '^diagnostics_channel$'),
    only('conformance', src('core'), npm('fast-check'), '^(assert(/strict)?|async_hooks|http2?|net)$'),
    only('simulation', src('core', 'fetch', 'postgres', 'redis', 'stores'), builtin),
    typesOnly('express'),
    typesOnly('koa'),
    typesOnly('hono'),
    typesOnly('fastify'),
    typesOnly('h3'),
    typesOnly('elysia'),
    ...Object.entries(neighbours).flatMap(onlyNeighbours),
    ...Object.entries(features).map(apart),
    {
      name: 'algorithms-apart',
      comment: 'what all algorithms share knows none of them',
      severity: 'error',
      from: { path: '^packages/core/src/algorithms/[^/]+$' },
      to: { path: '^packages/core/src/algorithms/[^/]+/' },
    },
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
      from: { path: '^packages/core/src/(?!features/|in-flight[.]ts|http/(index|lean)[.]ts)' },
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

/** The smallest app of a framework that limits requests with a sample. */
export interface MetaFramework {
  readonly name: string
  readonly dependencies: Readonly<Record<string, string>>
  /** The files of the app, by their paths. */
  readonly files: Readonly<Record<string, string>>
  /** Where the samples of examples/ stand in the app. */
  readonly samples: Readonly<Record<string, string>>
  /** What Node runs to build and to serve it. */
  readonly build: readonly string[]
  readonly start: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** How many requests a minute each path allows. */
  readonly limits: Readonly<Record<string, number>>
}

const REACT = { react: '19.3.1', 'react-dom': '19.3.1' }
const OURS = { '@spillway/fetch': 'latest' }

export const metaFrameworks: readonly MetaFramework[] = [
  {
    name: 'SvelteKit 3',
    dependencies: {
      ...OURS,
      '@sveltejs/adapter-node': '6.0.1',
      '@sveltejs/kit': '3.2.0',
      '@sveltejs/vite-plugin-svelte': '7.3.1',
      svelte: '5.57.3',
      typescript: '6.0.3',
      vite: '8.3.8',
    },
    files: {
      'vite.config.js': `import adapter from '@sveltejs/adapter-node'
import { sveltekit } from '@sveltejs/kit/vite'
export default { plugins: [sveltekit({ adapter: adapter() })] }
`,
      'src/app.html':
        '<!doctype html><html lang="en"><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n',
      'src/routes/+page.svelte': '<p>page</p>\n',
    },
    samples: { 'meta-frameworks/hooks.server.ts': 'src/hooks.server.ts' },
    build: ['node_modules/vite/bin/vite.js', 'build'],
    start: ['build/index.js'],
    limits: { '/': 100 },
  },
  {
    name: 'Astro 7',
    dependencies: { ...OURS, '@astrojs/node': '11.1.6', astro: '7.3.5' },
    files: {
      'astro.config.mjs':
        "import node from '@astrojs/node'\nexport default { output: 'server', adapter: node({ mode: 'standalone' }) }\n",
      'src/pages/index.astro': '<p>page</p>\n',
    },
    samples: { 'meta-frameworks/middleware.ts': 'src/middleware.ts' },
    build: ['node_modules/astro/bin/astro.mjs', 'build'],
    start: ['dist/server/entry.mjs'],
    env: { ASTRO_TELEMETRY_DISABLED: '1' },
    limits: { '/': 100 },
  },
  {
    name: 'React Router 8',
    dependencies: {
      ...OURS,
      ...REACT,
      '@react-router/dev': '8.4.0',
      '@react-router/node': '8.4.0',
      '@react-router/serve': '8.4.0',
      isbot: '5',
      'react-router': '8.4.0',
      vite: '8.3.8',
    },
    files: {
      'vite.config.js':
        "import { reactRouter } from '@react-router/dev/vite'\nexport default { plugins: [reactRouter()] }\n",
      'app/routes.js': "import { index } from '@react-router/dev/routes'\nexport default [index('home.jsx')]\n",
      'app/home.jsx': 'export default () => <p>page</p>\n',
      'app/root.jsx':
        "import { Outlet } from 'react-router'\nexport { middleware } from './limit'\nexport default () => <html lang=\"en\"><body><Outlet /></body></html>\n",
    },
    samples: { 'meta-frameworks/root.ts': 'app/limit.ts' },
    build: ['node_modules/@react-router/dev/bin.cjs', 'build'],
    start: ['node_modules/@react-router/serve/bin.cjs', 'build/server/index.js'],
    limits: { '/': 100 },
  },
  {
    name: 'Next.js 16',
    dependencies: {
      ...OURS,
      ...REACT,
      next: '16.4.6',
      '@types/node': '24',
      '@types/react': '19',
      typescript: '5.9.3',
    },
    files: {
      'app/layout.jsx': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>\n',
      'app/page.jsx': 'export default () => <p>page</p>\n',
    },
    samples: { 'meta-frameworks/proxy.ts': 'proxy.ts', 'meta-frameworks/route.ts': 'app/report/route.ts' },
    build: ['node_modules/next/dist/bin/next', 'build'],
    start: ['node_modules/next/dist/bin/next', 'start'],
    env: { NEXT_TELEMETRY_DISABLED: '1' },
    limits: { '/report': 5, '/': 90 },
  },
  {
    name: 'Nuxt 4',
    dependencies: { '@spillway/h3': 'latest', nuxt: '4.5.2' },
    files: { 'app/app.vue': '<template><p>page</p></template>\n' },
    samples: { 'meta-frameworks/limit.ts': 'server/middleware/limit.ts' },
    build: ['node_modules/nuxt/bin/nuxt.mjs', 'build'],
    start: ['.output/server/index.mjs'],
    env: { NUXT_TELEMETRY_DISABLED: '1' },
    limits: { '/': 100 },
  },
  {
    name: 'Nitro 3',
    dependencies: { '@spillway/h3': 'latest', nitro: '3.0.0' },
    files: {
      'nitro.config.js': "export default { srcDir: 'server' }\n",
      'server/middleware/limit.js':
        "import { perMinute, rateLimit } from '@spillway/h3'\nexport default rateLimit({ quota: perMinute(100) })\n",
      'server/routes/index.js': "export default () => 'page'\n",
    },
    samples: {},
    build: ['node_modules/nitro/dist/cli/index.mjs', 'build'],
    start: ['.output/server/index.mjs'],
    limits: { '/': 100 },
  },
]

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Threads start faster than processes, and two of them leave small machines able to keep time.
    pool: 'threads',
    maxWorkers: 2,
    retry: 0,
    // A limit for what hangs, far above what anything takes: slow machines are no failures.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{packages/*,site}/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/*/main.test.ts'],
          exclude: ['**/node_modules/**', 'test/packages/**', 'site/test/browser.test.ts'],
        },
      },
      // What users install: needs the build, so it stands apart.
      {
        extends: true,
        test: { name: 'packages', include: ['test/packages/*.test.ts'], globalSetup: 'test/packages/app.ts' },
      },
      // What readers see, in a real browser: needs the built site.
      { extends: true, test: { name: 'site', include: ['site/test/browser.test.ts'] } },
    ],
  },
})

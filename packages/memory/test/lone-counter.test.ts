import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { PROGRAM } from '../../../test/program.ts'
import { memoryStore, perMinute, rateLimiter } from '../src/index.ts'

// Four processes that each counted in memory allowed 400 requests under a limit of 100, and nothing was printed.

const file = fileURLToPath(new URL('lone-process.ts', import.meta.url))

/** The warnings of a process with this environment. */
const warningsIn = (env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const options = { env: { PATH: process.env['PATH'], ...env } }
    execFile(process.execPath, [...PROGRAM, file, ...args], options, (error, _, stderr) =>
      error ? reject(error) : resolve(stderr.split('\n').filter((line) => line.startsWith('spillway:'))),
    )
  })

const pm2 = { pm_id: '0', exec_mode: 'cluster_mode', NODE_APP_INSTANCE: '0' }

/** The warnings of a limiter in this process. */
function warningsOf(options: { replicas?: number; perProcess?: boolean }): readonly string[] {
  const logged: string[] = []
  const { perProcess = false, replicas = 1 } = options
  const logger = { warn: (message: string) => void logged.push(message) }
  const limiter = rateLimiter({ quota: perMinute(5), store: memoryStore({ perProcess }), replicas, logger })
  for (let i = 0; i < 10; i++) limiter.consumeSync('ann')
  return logged
}

afterEach(() => vi.unstubAllGlobals())

/** The warnings of a limiter while the global `process` is another. */
function warningsWith(process: unknown, perProcess = false): readonly string[] {
  vi.stubGlobal('process', process)
  const logged = warningsOf({ perProcess })
  vi.unstubAllGlobals()
  return logged
}

// Processes take seconds to start on a slow machine: one with an environment, and those of a cluster.
test('an instance of PM2 warns once, whatever the number of its limiters', async () => {
  const logged = await warningsIn({ ...pm2, instances: '4' }, 'alone')
  const total = 'this process is an instance of PM2, and counts in its own memory: all of them together allow 4 times'
  expect(logged).toEqual([expect.stringContaining(total)])
  expect(logged[0]).toMatch(/perProcess: true.*warnings\.md#warn_spillway_lone_counter\]$/)
})

test('two workers of a cluster warn; the process that starts them is silent', async () => {
  const warning = expect.stringContaining('this process is a worker of a cluster')
  expect(await warningsIn({}, 'cluster')).toEqual([warning, warning])
}, 120_000)

test.each([
  [{ AWS_LAMBDA_FUNCTION_NAME: 'api' }, 'an instance of AWS Lambda', 'each of them'],
  [{ VERCEL: '1' }, 'an instance of Vercel', 'each of them'],
  [{ ...pm2, instances: '4' }, 'an instance of PM2', 'all of them together allow 4 times each limit'],
  [{ ...pm2, instances: 'max' }, 'an instance of PM2', 'each of them'],
  [{ NODE_APP_INSTANCE: '3' }, 'an instance of PM2', 'each of them'],
])('one of several processes warns, unless it is meant: %o', (env, place, total) => {
  const text = `this process is ${place}, and counts in its own memory: ${total}`
  expect(warningsWith({ env })).toEqual([expect.stringContaining(text)])
  expect(warningsWith({ env }, true)).toEqual([])
})

test.each([{}, { ...pm2, instances: '1' }, { instances: '4' }, { NODE_APP_INSTANCE: '0' }, { VERCEL: '' }])(
  'a process that may be alone is silent: %o',
  (env) => expect(warningsWith({ env })).toEqual([]),
)

test('replicas that are declared are processes: the total is known', () => {
  const total = 'one of 4 replicas, and counts in its own memory: all of them together allow 4 times each limit.'
  expect(warningsOf({ replicas: 4 })).toEqual([expect.stringContaining(total)])
  expect(warningsOf({ replicas: 4, perProcess: true })).toEqual([])
  expect(warningsOf({})).toEqual([])
})

describe('in other runtimes', () => {
  test('an isolate of Workers warns', () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    expect(warningsOf({})).toEqual([expect.stringContaining('this process is an isolate of Cloudflare Workers')])
  })

  const secret = (): never => {
    throw new Error('NotCapable: run again with --allow-env')
  }
  test.each([
    ['without a process', undefined],
    ['without an environment', {}],
    ['whose environment may not be read', { env: new Proxy({}, { get: secret }) }],
    ['whose modules cannot be loaded', { env: {}, getBuiltinModule: secret }],
  ])('one %s is silent, and nothing throws', (_, process) => {
    expect(warningsWith(process)).toEqual([])
  })

  test('Deno is not asked for its environment: it would ask its user', () => {
    const get = vi.fn()
    vi.stubGlobal('Deno', {})
    const logged = warningsWith({ env: new Proxy({}, { get }) })
    expect([logged, get.mock.calls]).toEqual([[], []])
  })
})

test('perProcess must be true or false', () => {
  expect(() => memoryStore({ perProcess: 'yes' as never })).toThrow('perProcess must be true or false; got "yes".')
})

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { Line, Setting } from './cluster-store/setting.ts'
import { runsOf } from './runs.ts'

const program = fileURLToPath(new URL('node_modules/.cache/cluster-store.mjs', import.meta.url))

beforeAll(() =>
  build({
    entryPoints: [fileURLToPath(new URL('cluster-store/program.ts', import.meta.url))],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
  }),
)

interface Running {
  readonly child: ChildProcess
  /** The next line of which `find` returns something. */
  next<T>(find: (line: Line) => T | undefined): Promise<T>
  /** The processes that have written a line. */
  readonly pids: ReadonlySet<number>
}

let running: Running | undefined
afterEach(() => {
  // Those that are frozen, too.
  for (const pid of running?.pids ?? []) signal(pid, 'SIGKILL')
  running?.child.kill('SIGKILL')
  running = undefined
})

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {}
}

function start(setting: Partial<Setting> & Pick<Setting, 'task'>): Running {
  const whole: Setting = { via: 'cluster', workers: 1, names: ['default'], ...setting }
  const child = spawn(process.execPath, [program, JSON.stringify(whole)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pids = new Set<number>()
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line
    pids.add(line['pid'] as number)
    lines.push(line)
    for (const check of waiting) check()
  })
  running = {
    child,
    pids,
    next: (find) =>
      new Promise((resolve) => {
        const check = (): void => {
          for (const [i, line] of lines.entries()) {
            const found = find(line)
            if (found === undefined) continue
            lines.splice(i, 1)
            waiting.delete(check)
            resolve(found)
            return
          }
        }
        waiting.add(check)
        check()
      }),
  }
  return running
}

const field =
  <T>(name: string) =>
  (line: Line): T | undefined =>
    line[name] as T | undefined
const pidOf =
  (name: string) =>
  (line: Line): number | undefined =>
    line[name] === undefined ? undefined : (line['pid'] as number)

// The second of them in `npm run test:long`.
const channels = (['json', 'advanced'] as const).slice(0, runsOf(1))

test.each(channels)('passes the whole suite through a channel of %s', async (serialization) => {
  const { next } = start({ task: 'suite', serialization, names: [] })
  const [passed, failed] = await next((line) =>
    line['failed'] === undefined ? undefined : [line['passed'] as number, line['failed'] as string[]],
  )
  expect(failed).toEqual([])
  expect(passed).toBeGreaterThan(200)
})

test('eight workers that race for one key of two stores get exactly the limit of each', async () => {
  const { next } = start({ task: 'race', workers: 8, names: ['a', 'b'], serialization: 'advanced' })
  const admitted = [0, 0]
  for (let i = 0; i < 16; i++) {
    const [count, store] = await next((line) =>
      line['admitted'] === undefined ? undefined : [line['admitted'] as number, line['store'] as number],
    )
    admitted[store as number] = (admitted[store as number] as number) + (count as number)
  }
  expect(admitted).toEqual([1_000, 1_000])
  for (let i = 0; i < 8; i++) expect(await next(field('chats'))).toBe(20)
})

const probed = (line: Line): Line | undefined =>
  line['allowed'] !== undefined || line['error'] !== undefined ? line : undefined

/** What the worker's next request gets. */
async function ask({ next }: Running, worker: number): Promise<Line> {
  signal(worker, 'SIGUSR2')
  return next(probed)
}

test('what a killed worker has consumed stays consumed, and its successor counts on', async () => {
  const primary = start({ task: 'probe', restarts: true })
  const first = await primary.next(pidOf('ready'))
  for (let i = 0; i < 6; i++) expect(await ask(primary, first)).toMatchObject({ allowed: true })
  signal(first, 'SIGKILL')
  const second = await primary.next(pidOf('ready'))
  const decisions: unknown[] = []
  for (let i = 0; i < 5; i++) decisions.push((await ask(primary, second))['allowed'])
  expect(decisions).toEqual([true, true, true, true, false])
})

test('the child of a primary that is killed fails at once, and says why', async () => {
  const primary = start({ task: 'probe', via: 'fork' })
  const worker = await primary.next(pidOf('ready'))
  expect(await ask(primary, worker)).toMatchObject({ allowed: true })
  const ended = new Promise((resolve) => primary.child.once('exit', resolve))
  primary.child.kill('SIGKILL')
  await ended
  expect(await ask(primary, worker)).toMatchObject({
    error: 'The primary process has ended, or has closed the channel to this one: its store is lost.',
  })
})

test('a frozen primary is a store that does not answer, and counts on when it runs again', async () => {
  const primary = start({ task: 'probe' })
  const worker = await primary.next(pidOf('ready'))
  expect(await ask(primary, worker)).toMatchObject({ allowed: true, remaining: 9 })
  primary.child.kill('SIGSTOP')
  for (let i = 0; i < 2; i++)
    expect(await ask(primary, worker)).toMatchObject({ error: 'The store did not answer within 1000 ms.' })
  primary.child.kill('SIGCONT')
  // Of the two, the units are refunded when their answers arrive: 9 are left, and no request is allowed beyond them.
  let allowed = 0
  for (let i = 0; i < 10; i++) if ((await ask(primary, worker))['allowed']) allowed++
  expect(allowed).toBe(9)
})

test('a frozen primary fills the channel, and calls whose deadline has passed are not sent', async () => {
  const primary = start({ task: 'flood' })
  const worker = await primary.next(pidOf('ready'))
  primary.child.kill('SIGSTOP')
  signal(worker, 'SIGUSR2')
  const errors = await primary.next(field<string[]>('errors'))
  expect(errors).toEqual(['The store did not answer within 1000 ms.'])
  primary.child.kill('SIGCONT')
  // What did not fit into the channel was not sent later, either.
  expect(await primary.next(field<number>('stored'))).toBeLessThan(20)
})

test.each(['cluster', 'fork'] as const)(
  'a primary that was not set up gives an error that says what to do: %s',
  async (via) => {
    const primary = start({ task: 'probe', via, names: [] })
    const worker = await primary.next(pidOf('ready'))
    expect(await ask(primary, worker)).toMatchObject({
      error: expect.stringContaining(
        "The store did not answer within 1000 ms; the last error of its connection: the primary has not answered yet. It must call primaryStore() with the name 'default'",
      ),
    })
  },
)

test('a store of another name gives an error that lists those of the primary', async () => {
  const primary = start({ task: 'probe', names: ['other'] })
  const worker = await primary.next(pidOf('ready'))
  expect(await ask(primary, worker)).toMatchObject({
    error: expect.stringContaining('the primary has no store named "default", but "other"'),
  })
})

// A worker of node:cluster never does.
test('a child that has nothing left to do ends by itself', async () => {
  const { next } = start({ task: 'idle', via: 'fork' })
  expect(await next(field('allowed'))).toBe(true)
  expect(await next(field('exit'))).toBe(0)
})

test('the store of a primary in a worker, and that of a worker in a primary, throw and say what to write', async () => {
  const { next } = start({ task: 'misplaced', names: [] })
  const error = field<string>('error')
  const errors = [await next(error), await next(error)].sort()
  expect(errors[0]).toContain('primaryStore must be in the primary process')
  expect(errors[1]).toContain('workerStore needs a channel to a primary process; this process has none.')
})

test('a hundred calls of one event-loop tick are one message', async () => {
  const { next } = start({ task: 'tick', via: 'fork' })
  expect(await next(field('sent'))).toBe(1)
})

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ask, type Reported, story, type Way } from '../adapters/story.ts'
import { outcomeAt, testsAt } from '../services/elsewhere.ts'
import { startWorker } from '../services/workerd.ts'
import { type Runtime, serveExportIn, serveIn, suitesIn } from './runtimes.ts'
import type { Row } from './table.ts'

/** What a runtime does with the packages: the suites, as ES modules and required, and the story by its servers. */
export async function inRuntime(runtime: Runtime, folder: string, env: NodeJS.ProcessEnv): Promise<Row> {
  const failures: string[] = []
  const suites = async (file: string): Promise<number> => {
    const outcomes = await suitesIn(runtime, folder, file, env)
    for (const { suite, failed } of outcomes)
      failures.push(...failed.map((what) => `${runtime.name}, ${file}, ${suite}: ${what}`))
    return outcomes.reduce((sum, { passed }) => sum + passed, 0)
  }
  let imported = await suites('suite.mjs')
  for (const file of runtime.suites ?? []) imported += await suites(file)
  const required = await suites('suite.cjs')
  const reportedBy = async (file: string): Promise<readonly string[]> => {
    const reported: string[] = []
    const { ports, stop } = await serveIn(runtime, folder, file)
    try {
      for (const [app, port] of Object.entries(ports)) {
        const wrong = await wrongInStory(`http://127.0.0.1:${port}`, {}, otherAddress)
        if (wrong === undefined) reported.push(app)
        else failures.push(`${runtime.name}, ${file}, ${app}: ${wrong}`)
      }
    } finally {
      stop()
    }
    return reported
  }
  const reported = await reportedBy('serve.mjs')
  await reportedBy('serve.cjs')
  const example = await serveExportIn(runtime, folder)
  try {
    const wrong = example && (await tryExample(example.ready, {}, otherAddress))
    if (wrong !== undefined) failures.push(`${runtime.name}, example: ${wrong}`)
  } finally {
    example?.stop()
  }
  return { runtime: runtime.name, imported, required, reported, failures }
}

/** What workerd does: the suites, in a worker and with Durable Objects, and the story. */
export async function inWorkerd(folder: string): Promise<Row> {
  const failures: string[] = []
  const reported: string[] = []
  let imported = 0
  const suites = async (url: string): Promise<void> => {
    for (const name of await testsAt(url)) {
      const outcome = await outcomeAt(url, name)
      if (outcome === 'passed') imported++
      else failures.push(`workerd: ${name}: ${outcome}`)
    }
  }
  const worker = await startWorker(join(folder, 'worker.mjs'))
  const objects = await startWorker(join(folder, 'objects.mjs'), { durableObjects: { RATE_LIMITS: 'Watched' } })
  const example = await startWorker(join(folder, 'example.mjs'))
  try {
    await suites(worker.url)
    await suites(objects.url)
    const address = (ip: string) => ({ headers: { 'cf-connecting-ip': ip } })
    const wrong = await tryExample(example.url, address('192.0.2.1'), address('192.0.2.2'))
    if (wrong !== undefined) failures.push(`workerd, example: ${wrong}`)
    for (const app of ['Hono', 'fetch']) {
      const from = (address: string) => ({ 'x-app': app, 'cf-connecting-ip': address })
      const wrong = await wrongInStory(worker.url, from('192.0.2.1'), { headers: from('192.0.2.2') })
      if (wrong === undefined) reported.push(app)
      else failures.push(`workerd, ${app}: ${wrong}`)
    }
  } finally {
    await Promise.all([worker.stop(), objects.stop(), example.stop()])
  }
  const { version } = createRequire(import.meta.url)('workerd/package.json') as { version: string }
  return { runtime: `workerd ${version}`, imported, required: undefined, reported, failures }
}

// Linux has all of 127.0.0.0/8. What a header says of the address counts nowhere but on Workers.
const otherAddress = { localAddress: '127.0.0.2' }
const SPOOFED = { 'cf-connecting-ip': '192.0.2.9', 'x-forwarded-for': '192.0.2.9' }

/** Runs the story, and checks that another client has its own quota. Returns the error, if any. */
async function wrongInStory(
  url: string,
  client: Readonly<Record<string, string>>,
  other: Way,
): Promise<string | undefined> {
  const compare = (request: string, seen: Reported, expected: Partial<Reported>): string | undefined => {
    const wrong = Object.entries(expected).find(([name, value]) => seen[name as keyof Reported] !== value)
    return (
      wrong &&
      `${request} reported ${wrong[0]} ${JSON.stringify(seen[wrong[0] as keyof Reported])}, not ${JSON.stringify(wrong[1])}`
    )
  }
  for (const { afterMs, request, weight, reported } of story) {
    const headers = {
      ...client,
      'x-advance-ms': String(afterMs),
      ...(weight === undefined ? {} : { 'x-weight': weight }),
    }
    const wrong = compare(request, await ask(url, request, { headers }), reported)
    if (wrong !== undefined) return wrong
  }
  return (
    compare('GET / by one who spoofs', await ask(url, 'GET /', { headers: { ...SPOOFED, ...client } }), {
      limit: '"app";r=4;t=10',
    }) ?? compare('GET / by another client', await ask(url, 'GET /', other), { limit: '"app";r=5;t=10' })
  )
}

/** Asks the example in `examples/fetch` as two clients; what is wrong, if anything. */
async function tryExample(url: string, one: Way, other: Way): Promise<string | undefined> {
  const left = [await ask(url, 'GET /', one), await ask(url, 'GET /', one), await ask(url, 'GET /', other)]
  const bodies = JSON.stringify(left.map(({ body }) => body.trim()))
  const expected = JSON.stringify([99, 98, 99].map((n) => `requests: ${n} left`))
  return bodies === expected ? undefined : `answered ${bodies}, not ${expected}`
}

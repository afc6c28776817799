import { CLIENTS } from './clients.ts'
import { bold, dim, draw, green, type Line, live, red } from './draw.ts'
import { type Answer, clientOf } from './http.ts'
import { startServers } from './servers.ts'
import { judge, neverOf } from './verdict.ts'

// A reader such as `head` may close the pipe before the end.
process.stdout.on('error', () => process.exit(1))

console.log(`${bold('Spillway')}: 3 servers, 4 clients each, 5 units a second, burst 10, five seconds.\n`)

const servers = await startServers()
try {
  // The first request of a process loads and compiles code, so it is not measured.
  await Promise.all(servers.map(({ url }) => clientOf(url, 'warm-up', [])()))

  const start = performance.now()
  const jobs = servers.flatMap(({ framework, url }) =>
    Object.entries(CLIENTS).map(([client, run]) => {
      const line: Line = { framework, client, answers: [] }
      return { line, done: run(clientOf(url, client, line.answers)) }
    }),
  )
  const lines = jobs.map(({ line }) => line)
  const finish = live(() => draw(lines, start, performance.now() - start))
  try {
    await Promise.all(jobs.map(({ done }) => done))
  } finally {
    finish()
  }

  const of = (client: string): Line => lines.find((line) => line.client === client) as Line
  const denied = of('abuser').answers.find(({ allowed }) => !allowed)
  sample('Denied: fits later', denied)
  sample('Denied: never fits', neverOf(of('weighted')))

  console.log()
  const checks = judge(lines)
  for (const { promise, broken } of checks) {
    console.log(`${broken.length > 0 ? red('✗') : green('✓')} ${promise}`)
    for (const why of broken) console.log(red(`    ${why}`))
  }
  const kept = checks.every(({ broken }) => broken.length === 0)
  console.log(bold(kept ? green('\nAll checks passed.') : red('\nSome checks failed: see ✗.')))
  console.log(`
To try next:
  npm install express @spillway/express    limit an app: docs/start.md
  npx @spillway/cli suggest access.log     find a limit for your own traffic
  npm run docs:dev                         the playground, at /playground.html`)
  process.exitCode = kept ? 0 : 1
} catch (error) {
  console.error(red(`\nThe demo failed: ${error instanceof Error ? error.message : error}`))
  process.exitCode = 1
} finally {
  for (const server of servers) server.stop()
}

/** Prints a response with its rate limit headers. */
function sample(title: string, answer: Answer | undefined): void {
  if (answer === undefined) return
  const { status, headers, body } = answer
  const fields = ['RateLimit-Policy', 'RateLimit', 'Retry-After', 'Content-Type'].filter((name) => headers.has(name))
  console.log(`\n${bold(title)}${dim(` (a request of ${answer.cost} ${answer.cost === 1 ? 'unit' : 'units'})`)}`)
  console.log(`  HTTP/1.1 ${status}`)
  for (const name of fields) console.log(`  ${name}: ${headers.get(name)}`)
  console.log(JSON.stringify(JSON.parse(body), null, 2).replace(/^/gm, '  '))
}

import { CLIENTS } from './clients.ts'
import { bold, dim, draw, green, type Line, live, red } from './draw.ts'
import { type Answer, clientOf } from './http.ts'
import { startServers } from './servers.ts'
import { judge } from './verdict.ts'

// A reader such as `head` may close the pipe before the end.
process.stdout.on('error', () => process.exit(1))

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

  const denied = lines.flatMap(({ answers }) => answers).find((answer) => answer.headers.has('Retry-After'))
  if (denied !== undefined) console.log(`${dim('A denial:')} ${headersOf(denied)}`)
  const checks = judge(lines)
  for (const { promise, broken } of checks) {
    console.log(`${broken.length > 0 ? red('✗') : green('✓')} ${promise}`)
    for (const why of broken) console.log(red(`    ${why}`))
  }
  const kept = checks.every(({ broken }) => broken.length === 0)
  console.log(`
${bold(kept ? green('All checks passed.') : red('Some checks failed: see ✗.'))} To try next:
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

/** The status of a denial, and what tells its client when to return. */
function headersOf({ status, headers }: Answer): string {
  const fields = ['Retry-After', 'RateLimit'].map((name) => `${name}: ${headers.get(name)}`)
  return [status, ...fields].join('   ')
}

import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { memoryStore, perMinute, rateLimiter } from '../src/index.ts'

// A process of an app with two limiters, whose environment or cluster the test chooses. The warnings go to stderr.

const [mode, perProcess] = process.argv.slice(2)

function serve(): void {
  const store = memoryStore({ perProcess: perProcess === 'meant' })
  const limiters = [
    rateLimiter({ name: 'a', quota: perMinute(5), store }),
    rateLimiter({ name: 'b', quota: perMinute(5), store }),
  ]
  if (perProcess !== 'meant') limiters.push(rateLimiter({ quota: perMinute(5) }))
  for (let i = 0; i < 100; i++) for (const each of limiters) each.consumeSync('ann')
}

if (mode === 'cluster' && cluster.isPrimary) {
  cluster.setupPrimary({ exec: fileURLToPath(import.meta.url), execArgv: process.execArgv })
  for (let i = 0; i < 2; i++) cluster.fork()
} else {
  serve()
  cluster.worker?.disconnect()
}

// Replays a log by the published program, and sends the parent process what that took.

import { run } from '@spillway/cli'

const [log = '', policies = ''] = process.argv.slice(2)
const io = { stdin: process.stdin, stdout: { write: () => true }, stderr: process.stderr, env: {} }
const [startMs, before] = [performance.now(), process.cpuUsage()]
const code = await run(['replay', log, '--policy', policies], io)
if (code !== 0) throw new Error(`the replay of ${log} ended with ${code}`)
const { user, system } = process.cpuUsage(before)
process.send?.({
  ms: performance.now() - startMs,
  cpuMs: (user + system) / 1_000,
  kilobytes: process.resourceUsage().maxRSS,
})

// One app in its own process, which reports its CPU time, and a profile of it, on request.

import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { type App, apps } from './apps.ts'
import { microsByOwner } from './owners.ts'

const [framework = '', name = ''] = process.argv.slice(2)
const app = (apps as Readonly<Record<string, Readonly<Record<string, App>>>>)[framework]?.[name]
if (!app) throw new RangeError(`no app ${name} in ${framework}`)

/** Often enough for a second of work, and seldom enough to leave it at that. */
const SAMPLED_EVERY_MICROS = 250

const session = new Session()
const answers: Readonly<Record<string, () => unknown>> = {
  used: () => {
    const { user, system } = process.cpuUsage()
    return user + system
  },
  'start profile': async () => {
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLED_EVERY_MICROS })
    await session.post('Profiler.start')
    return 'started'
  },
  'stop profile': async () => microsByOwner((await session.post('Profiler.stop')).profile),
}
process.on('message', async (question: string) => {
  process.send?.((await answers[question]?.()) as object)
})
process.on('disconnect', () => process.exit(0))

const server = await app()
// Idle connections are kept open while other servers are measured.
server.keepAliveTimeout = 3_600_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

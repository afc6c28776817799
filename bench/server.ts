// One app in a process of its own, that tells how much processor time it has used when asked.

import { type App, apps } from './apps.ts'

const [framework = '', name = ''] = process.argv.slice(2)
const app = (apps as Readonly<Record<string, Readonly<Record<string, App>>>>)[framework]?.[name]
if (!app) throw new RangeError(`no app ${name} in ${framework}`)

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
process.on('disconnect', () => process.exit(0))
process.send?.(await app())

// The CPU time of decisions and requests by owner of the code: a limiter can reduce only part of it.

import { apps } from './apps.ts'
import { decisions } from './decision.ts'
import { serverOf, titled, WARMING } from './http.ts'
import { OWNERS } from './owners.ts'
import { type Case, exactly, type Table } from './table.ts'

const REQUESTS = 40_000

const cased =
  (framework: keyof typeof apps): Case =>
  async (progress) => {
    const names = Object.keys(apps[framework])
    const rows: Table['rows'][number][] = []
    for (const name of names) {
      const server = await serverOf(framework, name)
      await server.cost(WARMING)
      const micros = await server.profile(REQUESTS)
      server.stop()
      rows.push({ name, figures: OWNERS.map((owner) => exactly(micros[owner] / REQUESTS)) })
      progress(rows.length / names.length)
    }
    return {
      title: `Where a request spends its time in ${titled(framework)}`,
      how: 'Microseconds of CPU time per request, by whose code runs, from samples of the server process. Sampling slows everything down, so the numbers are higher than in the tables above.',
      columns: OWNERS,
      rows,
      targets: [],
    }
  }

/** Servers have their own processes, so that one client process is enough. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = {
  ...decisions,
  ...Object.fromEntries(Object.keys(apps).map((framework) => [framework, cased(framework as keyof typeof apps)])),
}

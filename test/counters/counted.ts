import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin, transform } from 'esbuild'
import { root } from '../packages/pack.ts'
import { COUNTS, instrument, type Kind, type Site } from './instrument.ts'

/** What our own functions do for one unit of work. */
export type Counts = Readonly<Record<Kind, number>>

/** The counts of each work of `work.ts`, and the places that were counted in it, with their counts. */
export interface Counted {
  readonly counts: Counts
  readonly sites: readonly (Site & { readonly count: number })[]
}

const MOST_SITES = 20_000

/** Counts in the sources of all packages, and in nothing else. */
const countingIn = (sites: Site[]): Plugin => ({
  name: 'count',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]packages[\\/]\w+[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'ts', target: 'esnext' })
      return { contents: instrument(code, relative(join(root, 'packages'), path), sites), loader: 'js' }
    })
  },
})

/** Runs each work of `work.ts` in a process of its own: what one has run must not change another. */
export async function countAll(works: readonly string[]): Promise<Readonly<Record<string, Counted>>> {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-counters-'))
  const sites: Site[] = []
  try {
    const outfile = join(folder, 'work.cjs')
    await build({
      entryPoints: [fileURLToPath(new URL('work.ts', import.meta.url))],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      plugins: [countingIn(sites)],
      banner: { js: `globalThis.${COUNTS} = new Uint32Array(${MOST_SITES});` },
    })
    const env = { ...process.env, NODE_ENV: 'production', NODE_OPTIONS: '' }
    return Object.fromEntries(
      works.map((work) => {
        const printed = execFileSync(process.execPath, [outfile, work], { env, encoding: 'utf8' })
        return [work, countedOf(sites, JSON.parse(printed) as readonly number[])]
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function countedOf(all: readonly Site[], counts: readonly number[]): Counted {
  const sites = all
    .map((site, i) => ({ ...site, count: counts[i] ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || placeOf(a).localeCompare(placeOf(b)))
  const sum = (kind: Kind): number =>
    sites.filter((site) => site.kind === kind).reduce((total, { count }) => total + count, 0)
  return { counts: { call: sum('call'), closure: sum('closure'), object: sum('object') }, sites }
}

const placeOf = ({ kind, file, code }: Site): string => [kind, file, code].join()

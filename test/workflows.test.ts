import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

// Checks the workflows, which run with the repository's permissions.

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const { scripts } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { scripts: Record<string, string> }

/** The parts of a file that are indented under its `jobs`, by their names. */
function jobsOf(text: string): ReadonlyMap<string, string> {
  const [, jobs = ''] = text.split(/^jobs:\n/m)
  const named = jobs.split(/^ {2}(?=\w+:\n)/m).slice(1)
  return new Map(named.map((job) => [job.slice(0, job.indexOf(':')), job]))
}

describe.each(readdirSync(at('.github/workflows')))('%s', (file) => {
  const text = readFileSync(at(`.github/workflows/${file}`), 'utf8')
  const jobs = jobsOf(text)

  test('takes actions by their commits, and says of which release those are', () => {
    const uses = [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action)
    expect(uses.length).toBeGreaterThan(0)
    for (const action of uses) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  test('may only read, unless a job says that it needs more', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read\n\n/m)
  })

  test('ends by itself', () => {
    for (const job of jobs.values()) expect(job).toMatch(/^ {4}timeout-minutes: \d+$/m)
  })

  test('runs no tests, nor what they depend on, where it may write', () => {
    for (const job of jobs.values()) {
      const mayWrite = job.includes('permissions:')
      expect(mayWrite && /npm (test|run test)/.test(job)).toBe(false)
      expect(mayWrite || job.includes('persist-credentials: false')).toBe(true)
    }
  })

  test('runs scripts that there are', () => {
    const named = [...text.matchAll(/run: npm (?:run )?([\w:]+)/g)].map(([, script]) => script)
    expect(named.length).toBeGreaterThan(0)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named))
  })
})

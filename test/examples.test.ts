import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { blocksOf, type Command, missingIn } from './examples/commands.ts'
import { type Program, run, start } from './examples/programs.ts'

const folder = fileURLToPath(new URL('../examples', import.meta.url))
const read = (path: string): string => readFileSync(join(folder, path), 'utf8')

const examples = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => ({ name, blocks: blocksOf(read(`${name}/README.md`)) }))

const rows = read('README.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('README.md'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

const isTest = ({ line }: Command): boolean => line.startsWith('npx vitest ')

test('the index lists every example once, with the command of its README and what to look at', () => {
  const listed = rows.map(([, task = '', link = '', command, look = '']) => {
    expect([task, look]).toEqual([expect.stringMatching(/./), expect.stringMatching(/.{8}/)])
    return [/^\[(.+)\]\(\1\/README\.md\)$/.exec(link)?.[1], command]
  })
  const commands = examples.map(({ name, blocks }) => [name, `\`${blocks[0]?.[0]?.line.replace(/ +#.*/, '')}\``])
  expect(listed.toSorted()).toEqual(commands.toSorted())
})

test('every block says what a command prints', () => {
  for (const { name, blocks } of examples) {
    expect([name, blocks.length]).not.toEqual([name, 0])
    for (const block of blocks) expect([name, block.flatMap(({ expected }) => expected)]).not.toEqual([name, []])
  }
})

const programs = examples.flatMap(({ name, blocks }) =>
  blocks.flatMap(([first, ...rest]) => (first && !isTest(first) ? [{ name, first, rest }] : [])),
)

// A service may have to be started, and a program may wait.
describe('a program prints what its README says', { timeout: 120_000 }, () => {
  test.each(programs)('$name: $first.line', async ({ name, first, rest }) => {
    const program = await start(join(folder, name), first.line.replace(/ +#.*/, ''))
    try {
      expect(missingIn(program.output(), first.expected)).toBe(undefined)
      for (const { line, expected } of rest.filter((command) => /^(curl|for) /.test(command.line))) {
        expect([line, await missing(program, line, expected)]).toEqual([line, []])
      }
    } finally {
      await program.stop()
    }
  })
})

/** The line that a command does not print, with all that it does print; nothing if it prints all. */
async function missing(program: Program, line: string, expected: readonly string[]): Promise<readonly string[]> {
  const output = await run(program, line)
  const absent = missingIn(output, expected)
  return absent === undefined ? [] : [absent, output]
}

const suites = examples.flatMap(({ name, blocks }) =>
  blocks.flatMap(([first]) => (first && isTest(first) ? [{ name, first }] : [])),
)

// The tests themselves run with all others.
test.each(suites)('$name: its command runs the tests that its README names', ({ name, first: { line, expected } }) => {
  expect(line).toBe(`npx vitest run --root ../.. --project unit --reporter=verbose examples/${name}`)
  const titles = [...read(`${name}/main.test.ts`).matchAll(/^test(?:\.each\(.*\))?\('(.*)',/gm)]
  expect(expected.map((each) => each.replace(/SvelteKit/, '%s'))).toEqual(titles.map(([, title]) => `✓ ${title}`))
})

describe('the check of an output', () => {
  const output = 'HTTP/1.1 429 Too Many Requests\nRetry-After: 719\nRateLimit: "default";r=0;t=719\n'

  test('needs the lines in their order, and ignores how long a wait is', () => {
    expect(missingIn(output, ['Retry-After: 720', 'RateLimit: "default";r=0;t=720'])).toBe(undefined)
    expect(missingIn(output, ['RateLimit: "default";r=0;t=720', 'Retry-After: 720'])).toBe('Retry-After: 720')
    expect(missingIn(output, ['RateLimit: "default";r=1;t=720'])).toBe('RateLimit: "default";r=1;t=720')
    expect(missingIn(output, ['HTTP/1.1 200 OK'])).toBe('HTTP/1.1 200 OK')
  })
})

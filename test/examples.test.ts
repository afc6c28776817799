import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../examples', import.meta.url))
const rows = readFileSync(join(folder, 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('README.md'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

test('the index lists every example once, with a command and what to look at', () => {
  const listed = rows.map(([, , link = '']) => /^\[(.+)\]\(\1\/README\.md\)$/.exec(link)?.[1])
  const examples = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(listed.toSorted()).toEqual(examples.map(({ name }) => name).toSorted())
  for (const [, task = '', , command, look = ''] of rows) {
    expect([task, command, look]).toEqual([
      expect.stringMatching(/./),
      expect.stringMatching(/^`\w.+`$/),
      expect.stringMatching(/.{8}/),
    ])
  }
})

test('a command of the index names a file that the example has', () => {
  for (const [, , link = '', command = ''] of rows) {
    const [, name = ''] = /\[(.+)\]/.exec(link) ?? []
    const [file] = /main\.\S*ts/.exec(command) ?? []
    if (file !== undefined) expect(readdirSync(join(folder, name))).toContain(file)
  }
})

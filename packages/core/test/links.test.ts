import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type ErrorCode, type WarningCode, withLink, withoutLink } from '../src/common/errors.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8')
const codes = [...read('packages/core/src/common/errors.ts').matchAll(/^ {2}\| '(\w+)'$/gm)].map(
  ([, code]) => code as ErrorCode | WarningCode,
)

test.each(codes)('%s links to a page of the homepage that exists', (code) => {
  const { homepage } = JSON.parse(read('package.json'))
  const [, base, page = ''] = /^wrong \[(.*)\/blob\/main\/([^#]*).*\]$/.exec(withLink('wrong', code)) ?? []
  expect(base).toBe(homepage)
  expect(existsSync(`${root}/${page}`)).toBe(true)
})

test('a message loses its link where another message quotes it', () => {
  expect(withoutLink(withLink('wrong [1].', 'ERR_SPILLWAY_KEY'))).toBe('wrong [1].')
  expect(withoutLink('wrong [1]')).toBe('wrong [1]')
})

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { run } from '@spillway/cli'
import { readAccessLogs, type Suggestion } from '@spillway/cli/browser'
import type { Locator, Page } from 'playwright-core'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { exampleLog } from '../../playground/log/example.ts'
import { DESKTOP, dist, PHONE, pages, pictures, playground, violations } from './browser.ts'

// cspell:ignore networkidle
// An access log that a visitor drops on the playground has the numbers that the program prints for the same files.

// Each step of the slider replays the log, in the browser and here.
vi.setConfig({ testTimeout: 120_000 })

const site = pages()
const folder = mkdtempSync(join(tmpdir(), 'spillway-site-'))
afterAll(() => rmSync(folder, { recursive: true }))

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../packages/cli/test/fixtures/${name}.log`, import.meta.url))

/** A suggested quota, and what it denies. */
type Quota = readonly [limit: number, per: string, denied: number, keys: number]

interface Dropped {
  readonly name: string
  readonly bytes: Buffer
}

/** The example, as a log that was rotated: its first half is compressed. */
async function rotated(): Promise<readonly Dropped[]> {
  const lines = (await exampleLog().text()).trimEnd().split('\n')
  const half = Math.floor(lines.length / 2)
  const part = (some: readonly string[]): Buffer => Buffer.from(`${some.join('\n')}\n`)
  return [
    { name: 'access.log', bytes: part(lines.slice(half)) },
    { name: 'access.log.1.gz', bytes: gzipSync(part(lines.slice(0, half))) },
  ]
}

/** What `spillway suggest` prints. */
async function printed(...paths: readonly string[]): Promise<readonly Quota[]> {
  const out: string[] = []
  const args = ['suggest', ...paths, '--deny-at-most', '0.1%', '--json']
  const stdout = { write: (text: string) => out.push(text) }
  await run(args, { stdin: Readable.from([]), stdout, stderr: { write: () => {} }, env: {} })
  const { selectors } = JSON.parse(out.join('')) as { selectors: [{ suggestions: Suggestion[] }] }
  return selectors[0].suggestions.map(({ limit, per, denied, keys }) => [limit, per, denied, keys])
}

/** Drops files on the page, as a file manager does. */
async function drop(page: Page, files: readonly Dropped[]): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    (given) => {
      const data = new DataTransfer()
      for (const { name, bytes } of given) data.items.add(new File([new Uint8Array(bytes)], name))
      return data
    },
    files.map(({ name, bytes }) => ({ name, bytes: [...bytes] })),
  )
  await page.locator('body').dispatchEvent('drop', { dataTransfer })
}

/** Whether a request asks for a file of the site, without a query. */
const isBuilt = (address: string): boolean =>
  address.startsWith('http://localhost/assets/') && existsSync(join(dist, address.slice('http://localhost/'.length)))

const panel = (page: Page): Locator => page.getByRole('region', { name: 'Your own access log' })
const summary = (page: Page): Locator => panel(page).locator('.pg-caption').first()
const number = (text: string): number => Number(text.replaceAll(',', ''))

/** The suggested quotas that the page shows: limit, period, denied, keys. */
async function suggestions(page: Page): Promise<readonly Quota[]> {
  const rows = await panel(page).locator('tbody').first().locator('tr').all()
  return Promise.all(
    rows.map(async (row) => {
      const [quota = '', denied = '', keys = ''] = await row.locator('th, td').allTextContents()
      const [limit = '', , per = ''] = quota.trim().split(' ')
      return [number(limit), per, number(denied.split(' ')[0] as string), number(keys)] as const
    }),
  )
}

describe('an access log on the playground', () => {
  test.each(['nginx', 'cloudfront', 'caddy'])('has the numbers of the program: %s', async (name) => {
    const page = await playground(site)
    await drop(page, [{ name: `${name}.log`, bytes: readFileSync(fixture(name)) }])
    await summary(page).waitFor()
    expect(await suggestions(page)).toEqual(await printed(fixture(name)))
  })

  test('may be rotated and compressed; nothing of it leaves the browser; a slider tries limits on it', async () => {
    const page = await playground(site)
    await page.waitForLoadState('networkidle')
    site.requests()
    const files = await rotated()
    await drop(page, files)
    await summary(page).waitFor()
    const logs = await readAccessLogs([exampleLog()])
    expect(await summary(page).textContent()).toContain(
      `${logs.requests.toLocaleString('en')} requests in ${logs.lines.toLocaleString('en')} lines, format: combined`,
    )
    for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes)
    expect(await suggestions(page)).toEqual(await printed(...files.map(({ name }) => join(folder, name))))
    const slider = panel(page).getByRole('slider', { name: 'What if the limit were' })
    const seen: (readonly [limit: number, denied: number])[] = []
    for (const key of ['Home', 'PageUp', 'PageUp', 'PageUp', 'PageUp', 'End']) {
      await slider.press(key)
      const limit = Number(await panel(page).getByLabel('Limit', { exact: true }).inputValue())
      const { denied, keys, deniedKeys } = logs.tryLimit('minute', limit)
      const text = (await panel(page).locator('output').textContent()) ?? ''
      const from = text.endsWith(`from ${keys} ${keys === 1 ? 'key' : 'keys'}`)
      expect([number(text.split(' ')[0] as string), from]).toEqual([denied, true])
      const shown = keys === 0 ? [] : await panel(page).locator('.pg-what-if tbody th').allTextContents()
      expect(shown).toEqual(deniedKeys.map(({ key }) => key))
      seen.push([limit, denied])
    }
    expect(seen[0]?.[0]).toBe(1)
    expect(seen.at(-1)?.[1]).toBe(0)
    expect(new Set(seen.map(([, denied]) => denied)).size).toBeGreaterThan(3)
    // VitePress fetches the pages of links that scroll into view: built files, in whose addresses nothing can leave.
    expect(site.requests().filter((address) => !isBuilt(address))).toEqual([])
  })

  test('counts by another key, and says what is wrong with it', async () => {
    const page = await playground(site)
    await panel(page).getByRole('button', { name: 'Try an example' }).click()
    await panel(page).getByRole('slider').waitFor()
    const key = panel(page).getByLabel('Count by')
    await key.fill('address')
    await key.press('Enter')
    expect(await panel(page).getByRole('alert').textContent()).toContain('--key is a selector such as ip')
    await key.fill('header:user-agent')
    await key.press('Enter')
    await panel(page).getByText("key: 'header:user-agent'").waitFor()
  })

  test('that is no log has no verdict', async () => {
    const page = await playground(site)
    await drop(page, [{ name: 'picture.png', bytes: Buffer.from('no log\n'.repeat(20)) }])
    expect(await panel(page).getByRole('note').first().textContent()).toContain('no line of the log is a request')
  })

  test.each([
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ] as const)('is accessible on a %s, in light and dark', async (device, viewport) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await playground(site, '', { viewport, colorScheme, reducedMotion: 'reduce' })
      await panel(page).getByRole('button', { name: 'Try an example' }).click()
      await panel(page).getByRole('slider').waitFor()
      await panel(page).screenshot({ path: join(pictures, `log-${device}-${colorScheme}.png`) })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
      expect(await violations(page, '.pg-log')).toEqual([])
    }
  })
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from '@spillway/cli'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleLog } from '../../playground/log/example.ts'
import { PHONE, pages, pictures, violations, WIDE } from './browser.ts'

// cspell:ignore valuetext
// The report that `spillway replay --html` writes, as a visitor of a file sees it.

const site = pages()
const folder = mkdtempSync(join(tmpdir(), 'spillway-report-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Limit {
  readonly limit: number
  readonly denied: number
  readonly keys: number
}

let limits: readonly Limit[] = []

beforeAll(async () => {
  const [log, policy, report] = ['example.log', 'policy.json', 'report.html'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(log, await exampleLog().text())
  const config = { limit: 60, per: '1m', burst: 60 }
  const rule = { name: 'per-client', limit_keys: ['ip'], algorithm: 'token_bucket', algorithm_config: config }
  writeFileSync(policy, JSON.stringify([rule]))
  const out: string[] = []
  const stdout = { write: (text: string) => out.push(text) }
  const args = ['replay', log, '--policy', policy, '--html', report, '--json']
  await run(args, { stdin: Readable.from([]), stdout, stderr: { write: () => {} }, env: {} })
  limits = JSON.parse(out.join('')).plans[0].policies[0].whatIf.limits
  site.serve('/report', readFileSync(report, 'utf8'))
})

describe('the report of a replay', () => {
  test('has a slider over limits, with the denied requests and keys of each', async () => {
    const page = await site.open('/report')
    const slider = page.getByRole('slider', { name: 'Limit' })
    const shown = async (): Promise<string> => (await page.locator('.what-if output').textContent()) ?? ''
    const text = ({ limit, denied, keys }: Limit, all: number): string =>
      `${limit.toLocaleString('en')} per minute: ${denied.toLocaleString('en')} denied (${Math.round((1e5 * denied) / all) / 1e3} %), from ${keys} ${keys === 1 ? 'key' : 'keys'}`
    const requests = (await exampleLog().text()).trimEnd().split('\n').length
    await slider.press('Home')
    expect(await shown()).toBe(text(limits[0] as Limit, requests))
    await slider.press('ArrowRight')
    expect(await shown()).toBe(text(limits[1] as Limit, requests))
    await slider.press('End')
    expect(await shown()).toBe(text(limits.at(-1) as Limit, requests))
    expect([limits[0]?.limit, limits.at(-1)?.denied]).toEqual([1, 0])
    expect(await slider.getAttribute('aria-valuetext')).toBe(await shown())
    expect(site.requests().filter((address) => !address.endsWith('/report'))).toEqual([])
  })

  test.each([
    ['desktop', WIDE, 'light'],
    ['phone', PHONE, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const)('can be read on a %s', async (device, viewport, colorScheme) => {
    const page = await site.open('/report', { viewport, colorScheme, bypassCSP: true })
    await page.screenshot({ path: join(pictures, `report-${device}-${colorScheme}.png`), fullPage: true })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
    const found = await violations(page, 'main')
    expect(found.filter(([, impact = '']) => ['serious', 'critical'].includes(impact))).toEqual([])
    const sizes = await page
      .locator('main *')
      .evaluateAll((all) =>
        all
          .filter((each) => each.childNodes.length === 1 && each.firstChild?.nodeType === 3)
          .map((each) => Number.parseFloat(getComputedStyle(each).fontSize)),
      )
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(11)
  })
})

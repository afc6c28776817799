import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test, vi } from 'vitest'
import { dist, PHONE, pages, pictures, violations, WIDE } from './browser.ts'

// Every page is opened.
vi.setConfig({ testTimeout: 600_000 })

const site = pages()

const addresses: readonly string[] = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.html') && !['404.html', 'embed.html'].includes(path))
  .map((path) => `/${path}`)

/** The code blocks of a page of which a part is cut off. */
const cut = (page: Page): Promise<readonly string[]> =>
  page
    .locator('.vp-doc pre')
    .evaluateAll((blocks) =>
      blocks
        .filter((block) => block.scrollWidth > block.clientWidth + 1)
        .map((block) => block.textContent?.slice(0, 60) ?? ''),
    )

/** The body of a page, and the style sheets that it loads. */
function partsOf(address: string): { readonly body: string; readonly sheets: readonly string[] } {
  const html = readFileSync(join(dist, address), 'utf8')
  const body = /<body[^>]*>([\s\S]*)<\/body>/.exec(html)?.[1] ?? ''
  return {
    body,
    sheets: [...html.matchAll(/<link rel="(?:preload )?stylesheet" href="([^"]+)"/g)].map(([, file = '']) => file),
  }
}

// The bodies are put in one page after another: to load each page, for each screen, takes Chromium minutes.
test('no code block is cut off on a desktop or a phone, and no page is wider than the screen', async () => {
  expect(addresses.length).toBeGreaterThan(60)
  const problems: string[] = []
  const sheets = new Set<string>()
  for (const viewport of [WIDE, PHONE]) {
    const page = await site.open(addresses[0] as string, { javaScriptEnabled: false, viewport })
    for (const address of addresses) {
      const { body, sheets: own } = partsOf(address)
      sheets.add(own.join())
      const width = await page.evaluate(async (html) => {
        document.body.innerHTML = html
        await Promise.all([...document.images].map((image) => image.loading === 'lazy' || image.decode()))
        return document.documentElement.scrollWidth
      }, body)
      if (width > viewport.width) problems.push(`${address} is ${width} pixels wide, of ${viewport.width}`)
      problems.push(...(await cut(page)).map((block) => `${address}: ${block} at ${viewport.width} pixels`))
    }
  }
  expect(problems).toEqual([])
  expect(sheets.size, 'pages with other style sheets look different').toBe(1)
})

test('the performance page shows its numbers, charts and where others are faster in little more than two screens', async () => {
  const page = await site.open('/performance.html', { viewport: WIDE })
  const broken = await page
    .locator('.vp-doc img')
    .evaluateAll((images) => images.filter((image) => (image as HTMLImageElement).naturalHeight === 0).length)
  expect(broken).toBe(0)
  const top = await page.locator('#method').evaluate((heading) => heading.getBoundingClientRect().top)
  expect(top).toBeLessThan(2.5 * WIDE.height)
  await page.screenshot({ path: join(pictures, 'performance-desktop-light.png'), fullPage: true })
})

describe('the reference', () => {
  test('can be read on a phone: descriptions have the width of the screen', async () => {
    const page = await site.open('/reference/core.html', { viewport: PHONE })
    const widths = await page
      .locator('.vp-doc td:last-child')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().width))
    expect(widths.length).toBeGreaterThan(50)
    expect(Math.min(...widths)).toBeGreaterThan(300)
    await page.screenshot({ path: join(pictures, 'reference-phone-light.png') })
    expect(
      (await violations(page, '.vp-doc')).filter(([, impact = '']) => ['serious', 'critical'].includes(impact)),
    ).toEqual([])
  })

  test('begins with what users call, has the parts of stores elsewhere, and is not endless', async () => {
    const page = await site.open('/reference/core.html', { viewport: WIDE })
    const headings = await page.locator('.vp-doc h3').allTextContents()
    expect(headings.slice(0, 4).map((heading) => heading.replace(/[^\w]/g, ''))).toEqual([
      'rateLimiter',
      'perSecond',
      'perMinute',
      'perHour',
    ])
    expect(headings.some((heading) => heading.startsWith('BucketStep'))).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(40_000)
    expect(readFileSync(join(dist, 'reference/core-stores.html'), 'utf8')).toContain('BucketStep')
  })
})

test('every page has a card for social networks', () => {
  const png = readFileSync(join(dist, 'card.png'))
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1200, 630])
  expect(statSync(join(dist, 'card.png')).size).toBeLessThan(60_000)
  for (const address of addresses) {
    expect(readFileSync(join(dist, address), 'utf8')).toMatch(
      /<meta property="og:image" content="https:\/\/[^"]+\/card\.png">/,
    )
  }
})

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { DESKTOP, dist, PHONE, pages, pictures, playground as playgroundIn, violations, WIDE } from './browser.ts'

// The built site in a real Chromium. Screenshots are in site/.cache/pictures.

const site = pages()
const { open } = site
const playground = (hash?: string, options?: BrowserContextOptions): Promise<Page> => playgroundIn(site, hash, options)

const moment = (page: Page): Promise<number> => page.getByLabel('Time', { exact: true }).inputValue().then(Number)
const statuses = (page: Page): Promise<string[]> => page.locator('.pg-now .pg-status').allTextContents()

describe('the playground', () => {
  test('answers the visitor’s requests, in every algorithm, also for screen readers', async () => {
    const page = await playground('#pattern=none&limit=2&shown=token,fixed,leaky&queue=0')
    // The page's clock stands, so that a slow machine sends the requests at the same times.
    await page.clock.install({ time: 0 })
    await page.clock.pauseAt(1000)
    const send = async (): Promise<string[]> => {
      await page.getByRole('button', { name: 'Send a request' }).click()
      await page.clock.runFor(400)
      await page.getByRole('button', { name: 'Pause' }).click()
      return statuses(page)
    }
    expect(await send()).toEqual(['200', '200', '200'])
    expect(await send()).toEqual(['200', '200', '429'])
    expect(await send()).toEqual(['429', '429', '429'])
    expect(await page.getByRole('status').first().textContent()).toMatch(
      /^Token bucket: denied, again in [\d.]+ s; Fixed/,
    )
    const response = await page.getByRole('region', { name: 'The response' }).textContent()
    expect(response).toContain('HTTP/1.1 429 Too Many Requests')
    expect(response).toContain('Retry-After: 5')
  })

  test('plays, pauses, and stops at the end', async () => {
    const page = await playground('#every=1')
    const before = await moment(page)
    await page.getByRole('button', { name: 'Play' }).click()
    await page.waitForFunction(
      (at) => Number(document.querySelector<HTMLInputElement>('.pg-scrub')?.value) > at,
      before,
    )
    await page.getByRole('button', { name: 'Pause' }).click()
    const paused = await moment(page)
    await page.getByLabel('Time', { exact: true }).press('End')
    expect(await moment(page)).toBeGreaterThan(paused)
    await page.getByRole('button', { name: 'Play' }).click()
    expect(await moment(page)).toBeLessThan(paused) // from the beginning again
  })

  test('can be used with the keyboard alone', async () => {
    const page = await playground()
    await page.getByRole('button', { name: 'Later →' }).press('Enter')
    const later = await moment(page)
    await page.getByRole('button', { name: '← Earlier' }).press('Space')
    expect(await moment(page)).toBeLessThan(later)
    await page.getByRole('button', { name: 'Fixed window' }).press('Enter')
    await page.getByRole('heading', { name: 'The code: Fixed window' }).waitFor()
    await page.getByLabel('Steady').focus()
    await page.keyboard.press('ArrowRight')
    expect(await page.getByLabel('Bursts').isChecked()).toBe(true)
  })

  test('shows core’s error for an invalid quota', async () => {
    const page = await playground()
    await page.getByLabel('Units', { exact: true }).fill('-1')
    const problem = page.getByRole('alert').first()
    expect(await problem.textContent()).toContain('tokenBucket limit must be a whole number, 0 or more; got -1.')
  })

  test('copies the code, and a link to the current choices', async () => {
    const page = await playground('#pattern=attack&picked=sliding', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByLabel('Hono').check()
    await page.getByRole('button', { name: 'Copy the code' }).click()
    await page.getByText('Copied.').waitFor()
    const pasted = () => page.evaluate(() => navigator.clipboard.readText())
    expect(await pasted()).toContain("app.use(rateLimit({ quota: slidingWindow({ limit: 10, window: '10s' }) }))")
    await page.getByRole('checkbox', { name: 'Leaky bucket' }).uncheck()
    await page.getByRole('button', { name: 'Copy a link to this' }).click()
    const link = await pasted()
    // cspell:ignore Cfixed Csliding
    expect(link).toMatch(
      /^http:\/\/localhost\/playground\.html#pattern=attack&shown=token%2Cfixed%2Csliding&picked=sliding&framework=hono&at=\d+$/,
    )
    // A link that is followed on the page itself is applied, too.
    await page.evaluate(() => {
      location.hash = '#limit=7&framework=koa&clicks=1500000:3&at=2000000'
    })
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('.pg-field input')?.value === '7')
    expect([await moment(page), await page.getByLabel('Koa').isChecked()]).toEqual([2_000_000, true])
  })

  // "Skip to content" and the permalink of the heading were taken for links without choices.
  test('keeps a shared link, and its address, if a visitor follows an anchor of the page', async () => {
    const link = '#limit=7&every=30&pattern=edge&clicks=1500000%3A3&at=3000000'
    const page = await playground(link)
    const shown = async (): Promise<unknown[]> => [
      await page.getByLabel('Units', { exact: true }).inputValue(),
      await page.getByLabel('Window boundary').isChecked(),
      await moment(page),
      new URL(page.url()).hash,
    ]
    const opened = ['7', true, 3_000_000, link]
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('VPContent')
    expect(await shown()).toEqual(opened)
    await page.locator('h1 .header-anchor').press('Enter')
    expect(await shown()).toEqual(opened)
    await page.reload()
    await page.waitForFunction(() => document.querySelector('.pg')?.getAttribute('data-alive') === 'true')
    expect(await shown()).toEqual(opened)
    // The playground without choices is a link, too.
    await page.locator('.VPNav').getByRole('link', { name: 'Playground' }).click()
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('.pg-field input')?.value === '10')
  })

  test('draws the current time within the drawings, however short the run and late the time of a link', async () => {
    // The lines of the current time that are to the right of their drawing, and the width of the page.
    const beyond = (page: Page): Promise<unknown> =>
      page.evaluate(() => [
        [...document.querySelectorAll('.pg-head')]
          .map((head) => (head as HTMLElement).style.left)
          .filter((left) => !(Number.parseFloat(left) <= 100)),
        document.documentElement.scrollWidth,
      ])
    const page = await playground()
    await page.getByLabel('Units', { exact: true }).fill('100000')
    await page.getByRole('note').waitFor()
    expect(await beyond(page)).toEqual([[], DESKTOP.width])
    expect(await beyond(await playground('#at=999999999999999'))).toEqual([[], DESKTOP.width])
  })

  test.each([
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ] as const)(
    'is accessible on a %s: light and dark, without motion, without horizontal scrolling',
    async (device, viewport) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        // A page for each: Chromium sets what a page emulates one after the other, and moves for a moment.
        const page = await playground('', { viewport, colorScheme, reducedMotion: 'reduce' })
        await page.screenshot({ path: join(pictures, `playground-${device}-${colorScheme}.png`), fullPage: true })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
        expect(await page.evaluate(() => document.getAnimations().length)).toBe(0)
        expect(await violations(page, '.pg')).toEqual([])
      }
    },
  )
})

test('a limit above what a run can have says what it left out', async () => {
  const page = await playground('#pattern=steady&limit=50000&shown=token')
  expect(await page.getByRole('note').textContent()).toContain('Only the first 10,000 requests are sent')
})

describe('the home page', () => {
  test.each([
    ['desktop', WIDE],
    ['phone', PHONE],
  ] as const)('has the name, the install line and the code in the first screen of a %s', async (device, viewport) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await open('/', { viewport, colorScheme, reducedMotion: 'reduce' })
      await page.screenshot({ path: join(pictures, `home-${device}-${colorScheme}.png`) })
      const found = await violations(page, '.VPContent')
      expect(found.filter(([, impact = '']) => ['serious', 'critical'].includes(impact))).toEqual([])
    }
    const page = await open('/', { viewport })
    const code = page.getByText('rateLimit({ quota: perMinute(100) })').first()
    for (const part of [
      page.getByText('npm install express @spillway/express'),
      code,
      page.getByRole('heading', { level: 1 }).first(),
    ]) {
      const box = await part.boundingBox()
      expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(viewport.height)
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
  })

  test('has what visitors look for in its bar', async () => {
    const page = await open('/', { viewport: WIDE })
    const bar = (await page.locator('.VPNav a').allTextContents()).map((text) => text.trim())
    expect(bar).toEqual(expect.arrayContaining(['Learn', 'Recipes', 'Stores', 'Operate', 'API', 'Playground']))
    expect(bar.some((text) => /^v\d+\.\d+\.\d+$/.test(text))).toBe(true)
    expect(await page.locator('.VPNav a[href="https://github.com/spillwayjs/spillway"]').count()).toBeGreaterThan(0)
  })
})

test.each([
  ['Koa', "from '@spillway/koa'", 'app.use(rateLimit('],
  ['NestJS', "RateLimitModule } from '@spillway/nestjs'", 'RateLimitModule.forRoot('],
  ['fetch', "from '@spillway/fetch'", 'const limit = rateLimit('],
])('the choice of %s switches the samples of every page, and is remembered', async (name, imported, used) => {
  const page = await open('/start.html')
  await page.locator('.vp-code-group label', { hasText: name }).first().click()
  // The groups follow the choice one after the other, each in an update of its own.
  const areChosen = (wanted: string): boolean => {
    const labels = [...document.querySelectorAll('.vp-code-group .tabs input:checked + label')]
    return labels.length > 0 && labels.every((label) => label.textContent === wanted)
  }
  await page.waitForFunction(areChosen, name)
  for (const [address, code] of [
    ['/', imported],
    ['/guides/headers.html', used],
  ]) {
    await page.goto(`http://localhost${address}`)
    await page.waitForFunction(areChosen, name)
    expect((await page.locator('.vp-code-group pre:visible').allTextContents()).join()).toContain(code)
  }
})

test('each page has its own title, description and card, and is in the sitemap', async () => {
  const seen: string[] = []
  for (const path of ['start', 'algorithms', 'guides/cors', 'packages/cli']) {
    const text = readFileSync(join(dist, `${path}.html`), 'utf8')
    const [, title = ''] = /<title>(.+?)<\/title>/.exec(text) ?? []
    const [, description = ''] = /<meta name="description" content="(.+?)">/.exec(text) ?? []
    expect(text).toContain(`<meta property="og:title" content="${title}">`)
    expect(description.length).toBeGreaterThan(30)
    seen.push(title, description)
    expect(readFileSync(join(dist, 'sitemap.xml'), 'utf8')).toContain(`/${path}.html</loc>`)
  }
  expect(new Set(seen).size).toBe(seen.length)
})

test('every navigation link has a page', async () => {
  const page = await open('/start.html')
  const links = await page.locator('.VPSidebar a, .VPNav a').evaluateAll((all) =>
    all
      .map((a) => new URL((a as HTMLAnchorElement).href))
      .filter(({ host }) => host === location.host)
      .map(({ pathname }) => pathname),
  )
  expect(links.length).toBeGreaterThan(20)
  expect(links.filter((link) => !existsSync(join(dist, link.replace(/\/$/, '/index.html'))))).toEqual([])
})

describe('the search', () => {
  test('finds words of a page', async () => {
    const page = await open('/')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.locator('#localsearch-input').fill('circuit breaker')
    await page
      .getByRole('link', { name: /When the store fails/ })
      .first()
      .click()
    await page.waitForURL('**/guides/failure.html*')
  })

  test('puts the page that answers first', async () => {
    const page = await open('/')
    await page.getByRole('button', { name: 'Search' }).click()
    const answers: string[][] = []
    for (const [words = ''] of ANSWERS) {
      await page.locator('#localsearch-input').fill(words)
      const first = page.locator('.VPLocalSearchBox .result').first()
      await page.waitForFunction(
        (wanted) => document.querySelector('.VPLocalSearchBox .result')?.textContent !== wanted,
        answers.at(-1)?.[2],
      )
      const href = (await first.getAttribute('href')) ?? ''
      answers.push([words, href.replace(/(\.html)?(#.*)?$/, ''), (await first.textContent()) ?? ''])
    }
    expect(answers.map(([words, path]) => [words, path])).toEqual(ANSWERS)
  })
})

const ANSWERS = [
  ['nestjs', '/migration/nestjs-throttler'],
  ['CORS', '/guides/cors'],
  ['throttle', '/migration/nestjs-throttler'],
  ['brute force', '/examples/login'],
  ['migrate', '/migration/express-rate-limit'],
  ['429', '/guides/troubleshooting'],
  ['X-Forwarded-For', '/guides/keys'],
  ['PM2', '/guides/stores'],
  ['nextjs', '/examples/meta-frameworks'],
  ['ddos', '/faq'],
  ['comparison', '/comparison'],
  ['allowlist', '/guides/keys'],
  ['burst', '/algorithms'],
  ['whitelist', '/guides/keys'],
  ['quota', '/glossary'],
  ['redis down', '/guides/failure'],
  ['llm', '/examples/llm-tokens'],
]

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { ensureChromium } from '../../../scripts/ensure.mjs'

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))

/** The built site. */
export const dist: string = path('.vitepress/dist')
/** Where tests leave screenshots. */
export const pictures: string = path('.cache/pictures')

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const DESKTOP = { width: 1280, height: 900 }
export const WIDE = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }

/** Opens pages in a Chromium that lives as long as the test file. What pages complain of fails the test. */
export interface Pages {
  /** Opens a page of the site. No server: its files are answered here, and whatever else it asks for is a complaint. */
  open(address: string, options?: BrowserContextOptions): Promise<Page>
  /** Serves another page at an address. */
  serve(address: string, html: string): void
  /** The addresses that pages have asked for since the last call. */
  requests(): readonly string[]
}

export function pages(): Pages {
  let browser: Browser
  const complaints: string[] = []
  const asked: string[] = []
  const served = new Map<string, string>()
  beforeAll(async () => {
    if (!existsSync(dist)) throw new Error('no site/.vitepress/dist: run `npm run docs` first')
    mkdirSync(pictures, { recursive: true })
    // Chromium's sandbox needs privileges that a container lacks, and the pages are our own.
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())
  afterEach(async () => {
    // An open page goes on with its animations.
    await Promise.all(browser.contexts().map((context) => context.close()))
    expect(complaints.splice(0)).toEqual([])
  })
  return {
    requests: () => asked.splice(0),
    serve: (address, html) => {
      served.set(address, html)
    },
    async open(address, options = {}) {
      const context = await browser.newContext({ viewport: DESKTOP, ...options })
      await context.route('**/*', (route) => {
        const { host, pathname } = new URL(route.request().url())
        const file = join(dist, decodeURIComponent(pathname).replace(/\/$/, '/index.html'))
        asked.push(route.request().url())
        const body = served.get(pathname)
        if (body !== undefined) return route.fulfill({ body, contentType: 'text/html' })
        if (host === 'localhost' && existsSync(file)) return route.fulfill({ path: file })
        complaints.push(`asks for ${route.request().url()}`)
        return route.abort()
      })
      const page = await context.newPage()
      page.setDefaultTimeout(25_000)
      page.on('pageerror', ({ message }) => complaints.push(message))
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      await page.goto(`http://localhost${address}`)
      return page
    },
  }
}

/** Opens the playground, and waits until it is interactive: a link is applied then. */
export async function playground({ open }: Pages, hash = '', options?: BrowserContextOptions): Promise<Page> {
  const page = await open(`/playground.html${hash}`, options)
  await page.waitForFunction(() => document.querySelector('.pg')?.getAttribute('data-alive') === 'true')
  return page
}

/** What axe finds in a part of a page, with the elements. */
export async function violations(page: Page, selector: string): Promise<readonly (readonly string[])[]> {
  await page.evaluate(axe)
  const found = await page.evaluate<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>(
    `axe.run(${JSON.stringify(selector)})`,
  )
  return found.violations.map(({ id, impact, nodes }) => [id, impact, ...nodes.map(({ html }) => html)])
}

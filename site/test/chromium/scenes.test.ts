import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { DESKTOP, PHONE, pages, pictures, playground, violations } from './browser.ts'

// cspell:ignore spinbutton

const site = pages()

const counts = (page: Page): Promise<string[]> => page.locator('.pg-lanes .pg-counts').allTextContents()

describe('the playground compares apps', () => {
  test('two policies, two processes, and a store that fails, as a visitor chooses', async () => {
    const page = await playground(site)
    await page.getByLabel('Two policies').check()
    expect(await page.locator('.pg-lane h2').allTextContents()).toEqual([
      'The first policy',
      'The second policy',
      'Both together',
    ])
    await page.getByLabel('And units').fill('-1')
    expect(await page.locator('.pg-lane [role=alert]').count()).toBe(2)
    await page.getByLabel('And units').fill('3')
    await page.getByLabel('Two processes').check()
    const [one = '', apart = '', shared = ''] = await counts(page)
    expect(Number.parseInt(apart, 10)).toBeGreaterThan(Number.parseInt(one, 10))
    expect(shared).toBe(one)
    await page.getByLabel('A store that fails').check()
    await page.getByRole('button', { name: 'Throws' }).click()
    await page.getByText("onStoreError: 'throw',").waitFor()
    await page.getByLabel('Time', { exact: true }).evaluate((slider: HTMLInputElement) => {
      slider.value = String(Number(slider.max) / 2)
      slider.dispatchEvent(new Event('input'))
    })
    const statuses = await page.locator('.pg-now .pg-status').allTextContents()
    expect(statuses.slice(1)).toEqual(['200', '503', '500'])
    expect(['200', '429']).toContain(statuses[0])
    expect(await page.evaluate(() => Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 1000)).toBe(
      true,
    )
    await page.getByRole('button', { name: 'Send a request' }).click()
    expect(await page.getByRole('status').first().textContent()).toContain('Denies all: denied')
    expect(page.url()).toContain('scene=failing')
  })

  test('a bad number leaves the lanes that do not use it, and says what is wrong once', async () => {
    const page = await playground(site)
    await page.getByRole('spinbutton', { name: 'Burst' }).fill('-1')
    expect(await page.getByRole('alert').count()).toBe(1)
    expect(await page.locator('.pg-lane svg').count()).toBe(3)
    await page.getByRole('spinbutton', { name: 'Burst' }).fill('')
    await page.getByLabel('Units', { exact: true }).fill('-1')
    expect(await page.getByRole('alert').allTextContents()).toEqual([
      expect.stringContaining('tokenBucket limit must be a whole number, 0 or more; got -1.'),
    ])
    expect(await page.locator('.pg-lane svg').count()).toBe(4)
    await page.getByLabel('Units', { exact: true }).fill('12')
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('lanes can be framed by other pages', async () => {
    const page = await playground(site, '#scene=processes&limit=7', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByRole('button', { name: 'Copy a frame' }).click()
    await page.getByText('Copied.').waitFor()
    const frame = await page.evaluate(() => navigator.clipboard.readText())
    expect(frame).toMatch(/^<iframe src="http:\/\/localhost\/embed\.html#scene=processes&amp;limit=7&amp;at=\d+"/)
    const [, address = '', height = ''] = /src="http:\/\/localhost([^"]+)".* height="(\d+)"/.exec(frame) ?? []
    const embedded = await site.open(address.replaceAll('&amp;', '&'), {
      viewport: { width: 720, height: Number(height) },
    })
    await embedded.waitForFunction(() => document.querySelector('.pg')?.getAttribute('data-alive') === 'true')
    expect(await embedded.locator('.pg-lane h2').allTextContents()).toHaveLength(3)
    expect(await counts(embedded)).toEqual(await counts(page))
    expect(await embedded.locator('h1, .VPNav, .VPSidebar, .pg-controls').count()).toBe(0)
    expect(await embedded.evaluate(() => document.documentElement.scrollHeight)).toBeLessThanOrEqual(Number(height))
    await embedded.screenshot({ path: join(pictures, 'embed.png') })
    expect(await violations(embedded, '.pg')).toEqual([])
  })

  test.each([
    ['desktop', DESKTOP, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const)('is accessible on a %s', async (device, viewport, colorScheme) => {
    const page = await playground(site, '#scene=failing', { viewport, colorScheme, reducedMotion: 'reduce' })
    await page.locator('.pg-lane').nth(3).waitFor()
    await page.screenshot({ path: join(pictures, `failing-${device}-${colorScheme}.png`), fullPage: true })
    expect(await violations(page, '.pg')).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(viewport.width)
    await page.getByLabel('Two policies').check()
    await page.screenshot({ path: join(pictures, `policies-${device}-${colorScheme}.png`), fullPage: true })
  })
})

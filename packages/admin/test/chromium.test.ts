import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { memoryStore, perMinute, rateLimiter } from '@spillway/memory'
import express from 'express'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureChromium } from '../../../scripts/ensure.mjs'
import { type AdminHandler, adminHandler } from '../src/index.ts'
import { HOSTILE, setUp } from './admin.ts'

describe('in Chromium, mounted in Express', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] })
  }, 60_000)
  afterAll(() => browser?.close())

  const serve = async (admin: AdminHandler) => {
    const app = express()
    app.use('/ops/limits', getRequestListener(admin))
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const page = await browser.newPage()
    const close = async () => {
      await page.close()
      server.closeAllConnections()
      server.close()
    }
    return { page, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/limits` }
  }

  test('the page works with policies of any name', async () => {
    const store = memoryStore()
    const names = ['constructor', '__proto__']
    const limiters = names.map((name) => rateLimiter({ name, quota: perMinute(10), blocks: true, store }))
    for (const limiter of limiters) await limiter.consume('203.0.113.66')
    const { page, url, close } = await serve(adminHandler({ limiters, authorize: () => true }))
    await page.goto(url)
    for (const name of names) {
      await page.locator('#policy').selectOption(name)
      await page.locator('#keys tr').getByRole('button', { name: 'Block', exact: true }).waitFor()
    }
    expect(await page.locator('#policies tr').count()).toBe(2)
    await close()
  }, 60_000)

  // Fetch takes no such address: the page listed nothing.
  test('the page works at an address with a user and a password', async () => {
    const { admin } = await setUp({ authorize: () => true })
    const { page, url, close } = await serve(admin)
    await page.goto(url.replace('//', '//ann:secret@'))
    await page.locator('#scanned', { hasText: '3 examined' }).waitFor()
    expect(await page.locator('#message').textContent()).toBe('')
    await close()
  }, 60_000)

  // The keys of one policy were shown as those of the other.
  test('the page shows no list that arrives after a later one', async () => {
    const store = memoryStore()
    const limiters = ['slow', 'fast'].map((name) => rateLimiter({ name, quota: perMinute(10), store }))
    for (const limiter of limiters) await limiter.consume(`${limiter.policies[0]?.name} key`)
    let released = Promise.resolve()
    const mask = async (key: string): Promise<string> => {
      if (key === 'slow key') await released
      return key
    }
    const { page, url, close } = await serve(adminHandler({ limiters, authorize: () => true, mask }))
    await page.goto(url)
    await page.getByText('slow key').waitFor()
    let release = (): void => {}
    released = new Promise((resolve) => {
      release = resolve
    })
    const asked = page.waitForRequest(/policy=slow/)
    await page.locator('#again').click()
    const late = await asked
    await page.locator('#policy').selectOption('fast')
    await page.getByText('fast key').waitFor()
    release()
    await (await late.response())?.finished()
    // One more answer, so that the page has read the late one.
    await page.evaluate(() => fetch('?api=state').then((response) => response.text()))
    expect(await page.locator('#keys').textContent()).toContain('fast key')
    await close()
  }, 60_000)

  test('the page counts the denials of blocked keys as those of their policy', async () => {
    const { admin, limiter } = await setUp({ authorize: () => true })
    await limiter.block(HOSTILE, '1h')
    for (let i = 0; i < 3; i++) admin.onDecision({ decision: await limiter.consume(HOSTILE) })
    admin.onDecision({ decision: await limiter.consume('203.0.113.66') })
    const { page, url, close } = await serve(admin)
    await page.goto(url)
    const row = page.locator('#policies tr')
    await row.first().waitFor()
    expect(await row.allTextContents()).toEqual(['api1060 s4'])
    await close()
  }, 60_000)

  test('the page lists masked keys, runs nothing of theirs, and resets one after confirmation', async () => {
    const { admin, limiter } = await setUp({ authorize: () => true })
    const { page, url, close } = await serve(admin)
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', ({ message }) => complaints.push(message))
    const answers: (string | undefined)[] = [undefined, '', undefined, '1y', '2h', '', '']
    page.on('dialog', (dialog) => {
      const answer = answers.shift()
      return answer === undefined ? dialog.dismiss() : dialog.accept(answer)
    })
    await page.goto(url)
    const rows = page.locator('#keys tr')
    await rows.nth(2).waitFor()
    expect(await rows.first().textContent()).toContain('20…66')
    expect(await page.title()).toBe('Rate limits')
    expect(await rows.nth(2).locator('button').count()).toBe(0)
    const button = (name: string) => rows.first().getByRole('button', { name, exact: true })
    await button('Reset').click()
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 0 })
    await button('Reset').click()
    // `waitForFunction` evaluates text, which the page's policy forbids.
    await page.getByText('Reset 20…66.').waitFor()
    expect(await rows.count()).toBe(2)
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 10 })
    await button('Block').click()
    expect(await limiter.peek(HOSTILE)).toMatchObject({ allowed: true })
    await button('Block').click()
    await page.getByText('such as \'10s\'; got "1y"').waitFor()
    await button('Block').click()
    await page.getByText('Block <i').waitFor()
    expect(await limiter.peek(HOSTILE)).toMatchObject({ allowed: false, policy: 'api (blocked)' })
    expect(await rows.first().textContent()).toContain('120 min')
    await page.locator('#blocked').check()
    await page.getByText('1 examined').waitFor()
    expect(await rows.count()).toBe(1)
    await button('Unblock').click()
    await page.getByText('1 examined').waitFor()
    await page.getByText('Unblock <i').waitFor()
    expect([await rows.count(), (await limiter.peek(HOSTILE)).allowed]).toEqual([0, true])
    // The duration that was wrong.
    expect(complaints).toEqual([expect.stringContaining('400 (Bad Request)')])
    await close()
  }, 60_000)
})

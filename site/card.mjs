// The image that social networks show beside a link to the site: site/public/card.png, drawn by Chromium. `node card.mjs`
// writes it anew.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { ensureChromium } from '../scripts/ensure.mjs'

const mark = readFileSync(new URL('.vitepress/mark.svg', import.meta.url), 'utf8')
const page = `<body style="margin:0;width:1200px;height:630px;box-sizing:border-box;padding:80px 90px;background:#06333f;color:#ffffff;font-family:sans-serif">
  <div style="display:flex;gap:28px;align-items:center;font-size:84px;font-weight:700"><span style="width:104px">${mark}</span>Spillway</div>
  <p style="margin:52px 0 0;font-size:52px;line-height:1.25">Rate limiting for Node and the edge</p>
  <p style="margin:26px 0 0;color:#9ee2ef;font-size:34px;line-height:1.4">Exact, fast, and still limiting if its store fails.</p>
  <code style="display:inline-block;margin-top:44px;padding:16px 26px;border-radius:14px;background:#0b4a5a;font-size:32px">app.use(rateLimit({ quota: perMinute(100) }))</code>
</body>`

// Chromium's sandbox needs privileges that a container lacks, and the page is our own.
const browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] })
const tab = await browser.newPage({ viewport: { width: 1200, height: 630 } })
await tab.setContent(page)
await tab.screenshot({ path: fileURLToPath(new URL('public/card.png', import.meta.url)) })
await browser.close()

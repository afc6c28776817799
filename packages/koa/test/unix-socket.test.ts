import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Koa from 'koa'
import { expect, test, vi } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

// Reproduces a bug: Koa's `ctx.ip` is empty on a Unix socket, not undefined, and there was neither warning.
test('warns of requests without an address, and of a proxy that is not trusted', async () => {
  const logger = { warn: vi.fn() }
  const app = new Koa()
  app.use(rateLimit({ quota: perMinute(9), logger }))
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const folder = await mkdtemp(join(tmpdir(), 'spillway-koa-'))
  const socketPath = join(folder, 'app.sock')
  const server = createServer(app.callback()).listen(socketPath)
  await once(server, 'listening')
  const send = async (headers: Record<string, string>): Promise<void> => {
    const [response] = await once(request({ socketPath, headers, agent: false }).end(), 'response')
    await once(response.resume(), 'end')
  }
  await send({})
  expect(logger.warn.mock.calls).toEqual([[expect.stringContaining('has no client address')]])
  await send({ 'x-forwarded-for': '203.0.113.7' })
  expect(logger.warn.mock.calls.slice(1)).toEqual([[expect.stringContaining('no proxy is trusted')]])
  server.close()
  await rm(folder, { recursive: true })
})

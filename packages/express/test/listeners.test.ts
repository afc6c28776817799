import { once } from 'node:events'
import type { Server } from 'node:http'
import express from 'express'
import request from 'supertest'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

// Node printed MaxListenersExceededWarning from the eleventh limiter on.
test('twenty limiters with refundIf on one response listen once', async () => {
  const app = express()
  let listeners = -1
  for (let i = 0; i < 20; i++) {
    app.use(rateLimit({ name: `limit ${i}`, quota: perMinute(9), key: () => 'a', refundIf: () => true }))
  }
  app.get('/', (_, res) => {
    listeners = res.listenerCount('close')
    res.send('ok')
  })
  const plain = express().get('/', (_, res) => res.send(String(res.listenerCount('close'))))
  const server: Server = app.listen(0)
  await once(server, 'listening')
  expect((await request(server).get('/')).status).toBe(200)
  server.close()
  expect(listeners).toBe(Number((await request(plain).get('/')).text) + 1)
})

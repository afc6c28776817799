import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { INestApplication } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppModule } from './main.ts'

let app: INestApplication<Server>
let url: string

beforeAll(async () => {
  app = await NestFactory.create(AppModule, { logger: false })
  await app.listen(0, '127.0.0.1')
  url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`
})

afterAll(() => app.close())

test('reports the remaining units to each client', async () => {
  const response = await fetch(url)
  expect([response.status, await response.text()]).toEqual([200, '99 requests left\n'])
  expect(response.headers.get('ratelimit-policy')).toBe('"requests";q=100;w=60')
})

test('counts logins apart, and denies the sixth', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await fetch(`${url}/login`, { method: 'POST' })).status)
  expect(statuses).toEqual([201, 201, 201, 201, 201, 429])
})

test('does not count health checks', async () => {
  expect((await fetch(`${url}/health`)).headers.get('ratelimit')).toBe(null)
})

import { Controller, Get } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { fakeClock } from '@spillway/conformance'
import { expect, test, vi } from 'vitest'
import { memoryStore, perMinute, RateLimitModule, type RateLimitOptions } from '../src/index.ts'

@Controller('users')
class Users {
  @Get(':id')
  one() {
    return 'ann'
  }
}

@Controller()
class Login {
  @Get('login')
  login() {
    return 'welcome'
  }
}

async function statusesOf(
  settings: object,
  options: Partial<RateLimitOptions>,
  paths: readonly string[],
): Promise<readonly number[]> {
  const limits = RateLimitModule.forRoot({
    quota: perMinute(1),
    store: memoryStore({ clock: fakeClock() }),
    ...options,
  } as RateLimitOptions)
  const module = { module: class App {}, imports: [limits], controllers: [Login, Users] }
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(settings as never), {
    logger: false,
  })
  await app.init()
  const statuses: number[] = []
  for (const url of paths) statuses.push((await app.inject({ url })).statusCode)
  await app.close()
  return statuses
}

// The path was read with what follows the semicolon, and the policy was walked around.
test.each([{}, { useSemicolonDelimiter: true }, { routerOptions: { useSemicolonDelimiter: true } }])(
  'reads the path as Fastify routes it: %j',
  async (settings) => {
    const options = { match: { path: '/login' } }
    const statuses = await statusesOf(settings, options, ['/login', '/login;a', '/login;a=/b?c'])
    // Fastify 5 has no such route by default; Fastify 4, which Nest 10 has, ends the path at the semicolon.
    const isOther = Object.keys(settings).length === 0 && process.env['FRAMEWORKS'] !== 'oldest'
    expect(statuses).toEqual(isOther ? [200, 404, 404] : [200, 429, 429])
  },
)

// If every proxy is trusted, any client can choose its key: there was no warning.
test('warns once of an app that trusts every proxy, and only of that', async () => {
  const logger = { warn: vi.fn() }
  for (const trustProxy of [false, 1, '127.0.0.1']) await statusesOf({ trustProxy }, { logger }, ['/login'])
  expect(logger.warn).not.toHaveBeenCalled()
  await statusesOf({ trustProxy: true }, { logger }, ['/login', '/login'])
  expect(logger.warn.mock.calls).toEqual([[expect.stringContaining('trustProxy: 1')]])
})

// Reproduces a bug: Fastify 4, which Nest 10 has, leads the path to the route, and the policy did not apply.
test('counts a request to /users/:id with an empty parameter', async () => {
  const statuses = await statusesOf({}, { match: { path: '/users/:id' } }, ['/users/', '/users/'])
  expect(statuses).toEqual(process.env['FRAMEWORKS'] === 'oldest' ? [200, 429] : [404, 404])
})

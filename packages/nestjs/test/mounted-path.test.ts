import { Controller, Get, VersioningType } from '@nestjs/common'
import { sendTo } from '@spillway/conformance'
import { afterEach, expect, test } from 'vitest'
import { perMinute, RateLimitModule } from '../src/index.ts'
import { appOf, closeApps, platforms, serverOf } from './apps.ts'

afterEach(closeApps)

@Controller('auth')
class Auth {
  @Get(['login', 'sign-in'])
  login() {
    return 'welcome'
  }

  @Get('users/:id')
  user() {
    return 'ann'
  }
}

// Such a policy applied to no request, without a word.
test.each(Object.keys(platforms))('warns once of a path without the global prefix, on %s', async (platform) => {
  const warningsOf = async (pattern: string, path: string, version = false): Promise<readonly string[]> => {
    const warnings: string[] = []
    const logger = { warn: (message: string) => warnings.push(message) }
    const limits = RateLimitModule.forRoot({ quota: perMinute(9), key: () => 'ann', logger, match: { path: pattern } })
    const app = await appOf(platform, [limits], [Auth])
    app.setGlobalPrefix('api')
    if (version) app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' })
    const send = await sendTo(await serverOf(app))
    for (let i = 0; i < 2; i++) expect((await send({ path })).status).toBe(200)
    return warnings
  }
  const warned = [expect.stringContaining('match.path matches the path of a request below')]
  expect(await warningsOf('/auth/login', '/api/auth/login')).toEqual(warned)
  expect(await warningsOf('/auth/users/:id', '/api/auth/users/7')).toEqual(warned)
  expect(await warningsOf('/auth/login', '/api/v2/auth/login', true)).toEqual(warned)
  for (const pattern of ['/api/auth/login', '/api/*', '/login']) {
    expect(await warningsOf(pattern, '/api/auth/login'), pattern).toEqual([])
  }
})

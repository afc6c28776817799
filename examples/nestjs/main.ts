// Each client may send 100 requests at once and then 100 a minute, and try to log in 5 times a minute.

import 'reflect-metadata'
import { pathToFileURL } from 'node:url'
import { Controller, Get, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  perMinute,
  RateLimit,
  RateLimitDecision,
  RateLimitModule,
  type RequestDecision,
  SkipRateLimit,
} from '@spillway/nestjs'

@Controller()
class Shop {
  @Get()
  list(@RateLimitDecision() decision: RequestDecision | undefined) {
    return `${decision?.remaining} requests left\n`
  }

  @Post('login')
  @RateLimit({ requests: { quota: perMinute(5), name: 'login' } })
  login() {
    return 'welcome\n'
  }

  @Get('health')
  @SkipRateLimit()
  health() {
    return 'ok\n'
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ policies: [{ name: 'requests', quota: perMinute(100) }] })],
  controllers: [Shop],
})
export class AppModule {}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const app = await NestFactory.create(AppModule)
  await app.listen(3000)
}

import { type CanActivate, Controller, Get, type Type } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import * as theirs from '@nestjs/throttler'
import { fakeClock, type NeutralRequest, type Send, sendTo } from '@spillway/conformance'
import { memoryStore } from '@spillway/memory'
import { afterEach, beforeEach, vi } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { appOf, closeApps, serverOf } from './apps.ts'

// What the documentation of @nestjs/throttler promises, on the original and here. The original needs the newest Nest.

export type Api = typeof ours
type Storage = InstanceType<Api['ThrottlerStorageService']>
export const libraries: Record<string, Api> = { '@spillway/nestjs/throttler': ours }
if (process.env.FRAMEWORKS !== 'oldest') libraries['@nestjs/throttler'] = theirs as unknown as Api

const START = Date.UTC(2026, 0, 1)
export let clock = fakeClock()
beforeEach(() => {
  clock = fakeClock()
  vi.useFakeTimers({ toFake: ['Date'], now: START })
})
afterEach(async () => {
  vi.useRealTimers()
  await closeApps()
})

export function advance(ms: number): void {
  clock.advance(ms)
  vi.setSystemTime(Date.now() + ms)
}

/** A storage on the clock of the test. */
export const storageOf = (api: Api): Storage =>
  api === ours ? new ours.ThrottlerStorageService(memoryStore({ clock })) : new api.ThrottlerStorageService()

export interface Setup {
  readonly platform?: string
  readonly guard?: Type<CanActivate>
  readonly controllers: readonly Type[]
  readonly options: Exclude<ours.ThrottlerModuleOptions, unknown[]>
}

export async function serve(
  api: Api,
  { platform = 'Express', guard = api.ThrottlerGuard, controllers, options }: Setup,
) {
  const module = api.ThrottlerModule.forRoot({ storage: storageOf(api), ...options })
  return sendTo(await serverOf(await appOf(platform, [module], controllers, [{ provide: APP_GUARD, useClass: guard }])))
}

export async function statusesOf(send: Send, times: number, request?: NeutralRequest): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) statuses.push((await send(request)).status)
  return statuses
}

/** The rate limit headers of a response, by their names without the prefix. */
export const reported = ({ headers }: Awaited<ReturnType<Send>>) =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => /ratelimit|retry/.test(name))
      .map(([name, value]) => [name.replace('x-ratelimit-', ''), Number(value)]),
  )

@Controller()
export class Plain {
  @Get()
  get() {
    return 'ok'
  }

  @Get('other')
  other() {
    return 'ok'
  }
}

// The differences that docs/migration/nestjs-throttler.md lists.

export const bothOf = async (run: (api: Api) => Promise<unknown>): Promise<Record<string, unknown>> =>
  Object.fromEntries(await Promise.all(Object.entries(libraries).map(async ([name, api]) => [name, await run(api)])))

/** What both libraries do. */
export const each = (here: unknown, there: unknown) =>
  Object.fromEntries(Object.keys(libraries).map((name) => [name, libraries[name] === ours ? here : there]))

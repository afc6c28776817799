import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** What frameworks take for no error, and what Express takes for the next route. */
const NO_ERRORS = [undefined, null, false, 0, '', 'route', 'router']

/** Tests functions of the options that throw. */
export function testFailures(test: TestFunction, mount: Mount): void {
  // Reproduces a bug: Express and Fastify called the next handler, and Koa did not answer.
  test('fails a request if a function of the options throws what is no error', async () => {
    for (const thrown of NO_ERRORS) {
      const reject = async (): Promise<never> => Promise.reject(thrown)
      const fail = (): never => {
        throw thrown
      }
      for (const options of [
        { key: fail },
        { key: reject },
        { cost: 2, onDenied: fail },
        { cost: 2, onDenied: reject },
      ] satisfies Partial<NeutralOptions>[]) {
        let handled = 0
        const scene = {
          timeout: new Promise<void>(() => {}),
          inner: [],
          onHandled: () => void handled++,
          besides: [],
          limited: <T>(limit: T) => limit,
        }
        const all = { quota: perMinute(1), logger: { warn: () => {} }, store: modelStore(fakeClock()), ...options }
        const send = await mount(all as NeutralOptions, scene)
        const status = await send().then(
          (response) => response.status,
          (error: Error) => error.name,
        )
        assert.ok(status === 500 || status === 'QuotaError', String(status))
        assert.equal(handled, 0)
      }
    }
  })

  // Each framework has its own answer to an error, and to one with a status. Of a handler without a framework, the runtime
  // answers 500, or the framework that calls it by the status of the error.
  test('counts a request whose handler throws by the status of its response', async () => {
    for (const thrown of [new Error('no'), Object.assign(new Error('no'), { status: 401, statusCode: 401 })]) {
      const counted: number[] = []
      let onCounted = (): void => {}
      const once = new Promise<void>((resolve) => {
        onCounted = resolve
      })
      const countIf = (status: number): boolean => {
        counted.push(status)
        onCounted()
        return true
      }
      const onHandled = (): never => {
        throw thrown
      }
      const scene = {
        timeout: new Promise<void>(() => {}),
        inner: [],
        onHandled,
        besides: [],
        limited: <T>(limit: T) => limit,
      }
      const send = await mount({ quota: perMinute(1), countIf, store: modelStore(fakeClock()) }, scene)
      const sent = await send().then(
        ({ status }) => status,
        () => ('status' in thrown ? 401 : 500),
      )
      await once
      assert.deepEqual(counted, [sent])
    }
  })
}

import type { AnyElysia } from 'elysia'
import { type Located, wrapMounted } from './mounted.ts'
import { type Sent, settleNow, settling } from './sent.ts'

const settled = new WeakSet<AnyElysia>()

/** Settles the requests of an app, and of each app that uses it: in a `group`, Elysia drops what a plugin has wrapped. */
export function settleIn(app: AnyElysia): void {
  if (settled.has(app)) return
  settled.add(app)
  // Without compilation, Elysia calls no wrapper.
  if (app.config.aot === false) {
    app.onRequest((context) => wrapMounted(app, context as unknown as Located))
    app.onAfterResponse({ as: 'global' }, (context) => settleNow(context as unknown as Sent))
  } else app.wrap((handler) => settling(handler as unknown as Parameters<typeof settling>[0]))
  // Elysia sets it on a plugin when another app uses it, before that app takes its routes.
  let parentOf: unknown = Reflect.get(app, 'getParent')
  Object.defineProperty(app, 'getParent', {
    configurable: true,
    get: () => parentOf,
    set: (next: () => AnyElysia) => {
      parentOf = next
      settleIn(next())
    },
  })
}

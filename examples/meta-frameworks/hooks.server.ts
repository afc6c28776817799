// SvelteKit: src/hooks.server.ts

import { ipKey, perMinute, rateLimit } from '@spillway/fetch'

/** What SvelteKit passes to `handle`, as far as it is used. Write `import type { Handle } from '@sveltejs/kit'`. */
interface Input<Event> {
  readonly event: Event
  readonly resolve: (event: Event) => Response | Promise<Response>
}

interface Event {
  readonly request: Request
  readonly getClientAddress: () => string
}

const addresses = new WeakMap<Request, string>()
const limit = rateLimit({ quota: perMinute(100), key: (request) => addresses.get(request) })

export function handle<E extends Event>({ event, resolve }: Input<E>): Promise<Response> {
  addresses.set(event.request, ipKey(event.getClientAddress()))
  return limit(() => resolve(event))(event.request)
}

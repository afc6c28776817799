import type { H3Event } from 'h3'

type Config = NonNullable<H3Event['app']>['config']
type Responded = (response: Response) => void

/** What awaits the response to an event. */
const awaiting = new WeakMap<H3Event, readonly Responded[]>()
/** The hooks of this module. */
const hooks = new WeakSet<NonNullable<Config['onResponse']>>()

/**
 * Calls back with the response that h3 has made, whatever error handlers and middleware around the limiter have made of it.
 * Returns false if the app does not report its responses.
 */
export function onceResponded(event: H3Event, responded: Responded): boolean {
  const config = event.app?.config
  if (config === undefined || !hasHook(config)) return false
  awaiting.set(event, [...(awaiting.get(event) ?? []), responded])
  return true
}

/** Adds a hook to an app when it is first needed. The config of a frozen app takes none. */
function hasHook(config: Config): boolean {
  const { onResponse } = config
  if (onResponse && hooks.has(onResponse)) return true
  const hook: typeof onResponse = (response, event) => {
    const all = awaiting.get(event) ?? []
    awaiting.delete(event)
    for (const each of all) each(response)
    return onResponse?.(response, event)
  }
  hooks.add(hook)
  return Reflect.set(config, 'onResponse', hook)
}

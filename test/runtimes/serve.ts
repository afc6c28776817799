import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@spillway/conformance'
import { frameworks } from '../adapters/apps.ts'
import { type Handler, handlers } from '../adapters/handlers.ts'
import { optionsAt } from '../adapters/options.ts'

// A program: serves the apps of the story where it is started, and prints the ports as a line of JSON. Each server has
// a clock of its own, which a request sets forward before it is looked at, by as much as its `x-advance-ms` says.

declare const Bun: { serve(options: object): { readonly port: number } } | undefined
declare const Deno:
  | { serve(options: object, handler: Handler): { readonly addr: { readonly port: number } } }
  | undefined

const ADVANCE = 'x-advance-ms'

async function throughNode(build: (typeof frameworks)[string]): Promise<number> {
  const clock = fakeClock()
  const listen: RequestListener = build(optionsAt(clock))
  const server = createServer((request, response) => {
    clock.advance(Number(request.headers[ADVANCE] ?? 0))
    listen(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** By the runtime's own server, where it has one for handlers. */
function byItself(build: (typeof handlers)[string]): number | undefined {
  const clock = fakeClock()
  const handle = build(optionsAt(clock))
  const fetch: Handler = (request, ...rest) => {
    clock.advance(Number(request.headers.get(ADVANCE) ?? 0))
    return handle(request, ...rest)
  }
  const options = { port: 0, hostname: '127.0.0.1', onListen: () => {} }
  if (typeof Bun !== 'undefined') return Bun.serve({ ...options, fetch }).port
  if (typeof Deno !== 'undefined') return Deno.serve(options, fetch).addr.port
  return undefined
}

async function main(): Promise<void> {
  const ports: Record<string, number> = {}
  for (const [name, build] of Object.entries(frameworks)) {
    const handler = handlers[name]
    ports[name] = (handler && byItself(handler)) ?? (await throughNode(build))
  }
  console.log(JSON.stringify(ports))
}

void main()

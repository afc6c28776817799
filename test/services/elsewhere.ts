import type { TestFunction } from '@spillway/conformance'

// Suites that run in another runtime: a server there lists its tests, and runs one per request.

/** There: answers `/` with the names of the tests, and `/?test=NAME` by running that one. */
export function suiteServer(register: (test: TestFunction) => void): (request: Request) => Promise<Response> {
  const tests = new Map<string, () => Promise<void>>()
  register((name, body) => tests.set(name, body))
  return async ({ url }) => {
    const name = new URL(url).searchParams.get('test')
    if (name === null) return Response.json([...tests.keys()])
    try {
      await tests.get(name)?.()
      return new Response(tests.has(name) ? 'passed' : 'no such test')
    } catch (error) {
      return new Response(error instanceof Error ? error.stack : String(error))
    }
  }
}

/** Here: the names of the tests that a server has. */
export async function testsAt(url: string): Promise<readonly string[]> {
  const response = await fetch(url)
  return (await response.json()) as string[]
}

/** Here: runs a test on the server, and returns 'passed' or the error. */
export async function outcomeAt(url: string, name: string): Promise<string> {
  const response = await fetch(`${url}/?test=${encodeURIComponent(name)}`)
  return response.text()
}

/** How a test runner takes a test; vitest's and node's `test` both fit. */
export type TestFunction = (name: string, body: () => Promise<void>, timeoutMs?: number) => unknown

/** The `test` function of a test runner, such as vitest's or node's. */
export type TestFunction = (name: string, body: () => Promise<void>, timeoutMs?: number) => unknown

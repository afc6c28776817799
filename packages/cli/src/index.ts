export { run } from './cli.ts'
export type { Io } from './io.ts'

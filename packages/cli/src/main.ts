#!/usr/bin/env node
import { run } from './cli.ts'

// Whoever reads our output may have read enough: `spillway … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await run(process.argv.slice(2), process)

// A process that is killed while it migrates: `argv[2]` has the server's options, `argv[3]` the table.

import pg from 'pg'
import { migrate } from '../src/index.ts'

const [, , config, table] = process.argv as string[] as [string, string, string, string]
await migrate(new pg.Pool({ ...JSON.parse(config), max: 1, application_name: 'dying' }), { table })

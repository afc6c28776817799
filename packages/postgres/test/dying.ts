// A process that is killed during a statement: consumes one unit on the server at `argv[2]`.

import { START } from '@spillway/conformance'
import { perDay } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { unhurried } from './unhurried.ts'

const pool = new pg.Pool({ ...JSON.parse(process.argv[2] as string), max: 1 })
const store = unhurried(pool)
await store.take([{ policy: 'p', key: 'a', step: stepFor(perDay(10_000), 'consume', 1) }], START)

// The cost of a key that is too long to be stored, as a multiple of its SHA-256 in the same runtime.

import { createHash } from 'node:crypto'
import { rateLimiter, tokenBucket } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { type Candidate, measure } from './measure.ts'
import { AMPLE, sink } from './rivals.ts'
import { portableSha256 } from './sha256.ts'
import type { Case, Row } from './table.ts'

const KEYS = 1_000
const LENGTHS = [300, 4_000, 15_000]
const WIDTHS = { 'of one byte': 'a', 'of two bytes': '\u0434' }
const RATIO = 'times SHA-256'
const [HERE, PORTABLE] = ['spillway consumeSync', 'spillway consumeSync without node:crypto']

const sha256: Candidate = {
  name: 'one SHA-256',
  run: (keys, from, to) => {
    for (let i = from; i < to; i++)
      sink.seen += createHash('sha256')
        .update(keys[i] as string)
        .digest().length
  },
}

const portable: Candidate = {
  name: 'one SHA-256 without node:crypto',
  run: (keys, from, to) => {
    for (let i = from; i < to; i++) sink.seen += portableSha256(keys[i] as string).length
  },
}

function limiting(name: string, first: string): Candidate {
  const { getBuiltinModule } = process
  if (name === PORTABLE) process.getBuiltinModule = () => undefined as never
  const limiter = rateLimiter({ quota: tokenBucket({ ...AMPLE, per: '1s' }), store: memoryStore() })
  limiter.consumeSync(first)
  process.getBuiltinModule = getBuiltinModule
  return {
    name,
    run: (keys, from, to) => {
      for (let i = from; i < to; i++) sink.seen += limiter.consumeSync(keys[i] as string).remaining
    },
  }
}

export const longKeys: Case = async (progress) => {
  const rows: Row[] = []
  for (const [width, character] of Object.entries(WIDTHS)) {
    for (const length of LENGTHS) {
      // Flat strings, as from a socket.
      const encoding = character === 'a' ? 'latin1' : 'utf16le'
      const keys = Array.from({ length: KEYS }, (_, i) =>
        Buffer.from(`${i}`.padEnd(length, character), encoding).toString(encoding),
      )
      for (const [name, baseline] of [
        [HERE, sha256],
        [PORTABLE, portable],
      ] as const) {
        const candidates = [limiting(name, keys[0] as string)]
        const results = await measure(baseline, candidates, keys, { seconds: 2, progress: () => {}, chunk: KEYS / 4 })
        for (const { name, ratio, nanos } of results.slice(1)) {
          rows.push({ name: `${name}, ${length.toLocaleString('en')} characters ${width}`, figures: [ratio, nanos] })
        }
      }
      progress(rows.length / (2 * LENGTHS.length * Object.keys(WIDTHS).length))
    }
  }
  return {
    title: 'A decision in memory: a long key',
    how: 'A key of more than 256 characters is stored as a digest. A decision about it and one SHA-256 of it alternate in turns of 250 keys. The SHA-256 is by node:crypto, or, without it, in JavaScript.',
    columns: [RATIO, 'ns'],
    rows,
    targets: rows.map(({ name }) => ({ ours: name, column: RATIO, atMost: 2 })),
  }
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Micros, tokenBucket } from '@spillway/core'
import { PROGRAM } from '../../../test/program.ts'

/** The arguments of a process. */
export interface Race {
  readonly ports: readonly number[]
  readonly clustered: boolean
  readonly callers: number
  readonly forMs: number
  /** The skew of its clock. */
  readonly clockOffMs: number
}

/** How many requests of a process were allowed or denied, and when the first was allowed, by the server's clock. */
export interface Tally {
  admitted: number
  denied: number
  first: Micros
}

export const HOT = { policy: 'p', key: 'hot' }
// A burst of two seconds of refill: a machine may stall that long before the bucket is full and refills are lost.
export const hotQuota = tokenBucket({ limit: 500, per: '1s', burst: 1_000 })

const racer = fileURLToPath(new URL('racer.ts', import.meta.url))

/** Runs processes that race for one key, and adds up their results. */
export async function race(races: readonly Race[]): Promise<Tally> {
  const children = races.map((each) => fork(racer, [JSON.stringify(each)], { execArgv: [...PROGRAM] }))
  await Promise.all(children.map(heard))
  for (const child of children) child.send('go')
  const tallies = (await Promise.all(children.map(heard))) as Tally[]
  return {
    admitted: sum(tallies.map(({ admitted }) => admitted)),
    denied: sum(tallies.map(({ denied }) => denied)),
    first: Math.min(...tallies.map(({ first }) => first)),
  }
}

async function heard(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a process exited with ${code} before it sent a message`)
  })
  const [message] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => {})
  return message
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

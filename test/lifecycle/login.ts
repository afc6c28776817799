import type { AddressInfo } from 'node:net'
import { penalty, perMinute, rateLimit, type Store } from '@spillway/express'
import express from 'express'

// A login in a process of its own: POST /login fails, and GET / is a page whose clients can be blocked by hand.

const [kind, place = ''] = process.argv.slice(2)

/** Imports one store only, so that the process starts sooner. */
async function storeOf(): Promise<Store> {
  if (kind === 'redis') {
    const [{ redisStore }, { Redis }] = await Promise.all([import('@spillway/redis'), import('ioredis')])
    return redisStore(new Redis(Number(place), '127.0.0.1'), { denyCache: false })
  }
  const [{ postgresStore }, { default: pg }] = await Promise.all([import('@spillway/postgres'), import('pg')])
  return postgresStore(new pg.Pool({ ...(JSON.parse(place) as object), max: 4 }), { deadline: '20s' })
}

const store = await storeOf()
const common = { store, deadline: '20s', onStoreError: 'throw', key: 'header:x-user' } as const

const login = rateLimit({
  ...common,
  name: 'login',
  quota: penalty({ after: 5, within: '15m', block: '15m', grow: 2, max: '1d' }),
  countIf: [401],
})
const page = rateLimit({ ...common, name: 'page', quota: perMinute(1_000), blocks: true })

const app = express()
app.post('/login', login, (_req, res) => void res.status(401).end())
app.get('/', page, (_req, res) => void res.end())

process.on('message', ({ call, key }: { readonly call: 'block' | 'unblock'; readonly key: string }) => {
  const done = call === 'block' ? page.block(key, '1h') : page.unblock(key)
  void done.then(() => process.send?.('done'))
})
const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

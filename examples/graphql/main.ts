// Each client has 1,000 units a minute, and a query costs one unit for each field that it returns.

import { pathToFileURL } from 'node:url'
import { perMinute, rateLimit } from '@spillway/express'
import express, { type Request } from 'express'
import { buildSchema, type DocumentNode, execute, parse, validate } from 'graphql'
import { complexityOf } from './complexity.ts'

const schema = buildSchema(`
  type Query { books(first: Int!): [Book!]! }
  type Book { title: String! author: Author! }
  type Author { name: String! books(first: Int!): [Book!]! }
`)

interface List {
  readonly first: number
}

const author = { name: 'Ursula', books: ({ first }: List) => shelf(first) }
const shelf = (first: number): object[] =>
  Array.from({ length: first }, (_, i) => ({ title: `Volume ${i + 1}`, author }))

/** The query of a request, or its errors. */
interface Query {
  readonly document?: DocumentNode
  readonly errors?: readonly { readonly message: string }[]
  readonly variables: Readonly<Record<string, unknown>>
}

function read(query: unknown): Pick<Query, 'document' | 'errors'> {
  try {
    const document = parse(String(query), { maxTokens: 1_000 })
    const errors = validate(schema, document)
    return errors.length > 0 ? { errors } : { document }
  } catch (error) {
    return { errors: [{ message: (error as Error).message }] }
  }
}

// Parsed once, for the limiter and for the handler.
const queryOf = ({ res }: Request): Query => res?.locals['query']

const limit = rateLimit({
  name: 'units',
  quota: perMinute(1_000),
  // An invalid query costs 1 unit.
  cost: (req) => {
    const { document, variables } = queryOf(req)
    return document ? complexityOf(document, variables) : 1
  },
})

export const app = express()

app.use(express.json({ limit: '20kb' }), (req, res, next) => {
  res.locals['query'] = { ...read(req.body?.query), variables: req.body?.variables ?? {} }
  next()
})

app.post('/graphql', limit, async (req, res) => {
  const { document, errors, variables } = queryOf(req)
  if (!document) {
    res.status(400).json({ errors })
    return
  }
  const rootValue = { books: ({ first }: List) => shelf(first) }
  const result = await execute({ schema, document, rootValue, variableValues: variables })
  res.json({ ...result, extensions: { cost: req.rateLimit?.cost, remaining: req.rateLimit?.remaining } })
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000/graphql'))
}

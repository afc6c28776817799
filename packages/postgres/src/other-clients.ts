import { QuotaError } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

const ADAPTER =
  'Pass an object with query and exec that calls it: see docs/guides/stores.md#other-clients-of-postgresql.'

/** A client that the store does not take: the methods by which it is recognised, and the error about it. */
const OTHERS: readonly (readonly [methods: readonly string[], message: string])[] = [
  [
    ['escapeLiteral'],
    'got a Client, which is one connection: requests would wait for each other, and a statement could not time out.',
  ],
  [['$client'], 'got a database of drizzle. Pass its pool, `db.$client`.'],
  [['selectFrom', 'executeQuery'], 'got a Kysely, which hides its pool. Pass the pool that its dialect has.'],
  [['$pool'], 'got a Database of pg-promise. Pass its pool, `db.$pool`.'],
  [
    ['createQueryRunner'],
    'got a DataSource of TypeORM. Pass its pool, `dataSource.driver.master`, once it is initialized.',
  ],
  [['oneFirst', 'maybeOne'], `got a pool of Slonik, which lends connections to functions only. ${ADAPTER}`],
  [['define', 'authenticate'], `got a Sequelize, which hides its pool. ${ADAPTER}`],
  [['raw', 'client'], `got a knex, whose pool returns no promise of a connection. ${ADAPTER}`],
  [['$queryRawUnsafe'], `got a client of Prisma. ${ADAPTER}`],
  [['unsafe', 'begin'], `got a function that runs templates, as of postgres.js or Bun. ${ADAPTER}`],
  [['query', 'transaction'], `got \`neon()\`, which sends statements over HTTP. ${ADAPTER}`],
]

/** What is known about a client that the store does not take; undefined if nothing is. */
export function otherClient(database: unknown): string | undefined {
  if ((typeof database !== 'object' || database === null) && typeof database !== 'function') return undefined
  return OTHERS.find(([methods]) => methods.every((method) => method in database))?.[1]
}

/** The error for what is not a pool of connections: what it is, and what to pass instead. */
export function errorOfClient(database: unknown): QuotaError {
  const message = otherClient(database)
  return new QuotaError(
    'ERR_SPILLWAY_OPTION',
    message === undefined
      ? `postgresStore needs a pool of connections: \`new Pool()\` of pg, or \`new PGlite()\`; got ${formatValue(database)}.`
      : `postgresStore needs a pool of connections, \`new Pool()\` of pg; ${message}`,
  )
}

// `@rateLimit` on a field of a schema: how often each client may read the field. For every server that executes schemas of
// graphql-js, such as GraphQL Yoga and Apollo Server.

import { memoryStore, rateLimiter, tokenBucket } from '@spillway/memory'
import {
  defaultFieldResolver,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  getDirectiveValues,
  isObjectType,
} from 'graphql'

export const typeDefs = /* GraphQL */ `
  directive @rateLimit(limit: Int!, per: String! = "1m", cost: Int! = 1) on FIELD_DEFINITION
`

/** The client that a server's context names. */
export interface Context {
  readonly client: string
}

/** The arguments of the directive. */
interface Limit {
  readonly limit: number
  readonly per: Parameters<typeof tokenBucket>[0]['per']
  readonly cost: number
}

/** Limits the fields that have the directive. Aliases of a field count as one field, each with its cost. */
export function withRateLimits(schema: GraphQLSchema, store = memoryStore()): GraphQLSchema {
  const directive = schema.getDirective('rateLimit')
  if (!directive) throw new Error('The schema has no directive @rateLimit: add typeDefs to it.')
  const limit = (field: GraphQLField<unknown, Context>, name: string, { limit, per, cost }: Limit): void => {
    const limiter = rateLimiter({ name, quota: tokenBucket({ limit, per }), store })
    const { resolve = defaultFieldResolver } = field
    field.resolve = async (source, args, context, info) => {
      const { allowed, retryAfterMs } = await limiter.consume(context.client, cost)
      if (allowed) return resolve(source, args, context, info)
      throw new GraphQLError(`${name} is over its limit.`, { extensions: { code: 'RATE_LIMITED', retryAfterMs } })
    }
  }
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      const given = field.astNode && getDirectiveValues(directive, field.astNode)
      if (given) limit(field, `${type.name}.${field.name}`, given as unknown as Limit)
    }
  }
  return schema
}

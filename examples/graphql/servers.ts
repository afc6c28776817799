// The same schema in GraphQL Yoga and in Apollo Server: each client may search 30 times at once, and then
// 30 times a minute, and export twice at once, and then twice an hour.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { pathToFileURL } from 'node:url'
import { ApolloServer } from '@apollo/server'
import { startStandaloneServer } from '@apollo/server/standalone'
import { ipKey } from '@spillway/express'
import type { GraphQLSchema } from 'graphql'
import { createSchema, createYoga } from 'graphql-yoga'
import { type Context, typeDefs, withRateLimits } from './directive.ts'

export const makeSchema = (): GraphQLSchema =>
  withRateLimits(
    createSchema<Context>({
      typeDefs: [
        typeDefs,
        /* GraphQL */ `
          type Query {
            search(text: String!): String! @rateLimit(limit: 30)
            export: String! @rateLimit(limit: 100, per: "1h", cost: 50)
            version: String!
          }
        `,
      ],
      resolvers: {
        Query: { search: (_, { text }) => `found ${text}`, export: () => 'all of it', version: () => '1' },
      },
    }),
  )

const contextOf = ({ req }: { readonly req: IncomingMessage }): Context => ({
  client: ipKey(req.socket.remoteAddress ?? ''),
})

export const yogaServer = (): Server =>
  createServer(createYoga({ schema: makeSchema(), context: contextOf, logging: false }))

/** Starts Apollo Server, and returns it with its URL. */
export async function startApollo(
  port: number,
): Promise<{ readonly server: ApolloServer<Context>; readonly url: string }> {
  const server = new ApolloServer<Context>({ schema: makeSchema() })
  const listen = { host: '127.0.0.1', port }
  const { url } = await startStandaloneServer(server, { listen, context: async (request) => contextOf(request) })
  return { server, url }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  yogaServer().listen(4000, () => console.log('http://localhost:4000/graphql'))
}

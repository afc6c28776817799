import { adapterFor, type ClientOf, commandOf, type Dialect, type GlideRedisClient } from './clients.ts'

const dialect: Dialect<GlideRedisClient> = {
  name: 'GLIDE',
  evaluate: (client, by, request) => client.customCommand(commandOf(by, request)),
  deleteKey: (client, name) => client.del([name]),
  memoryInfo: (client, clustered) =>
    client.customCommand(['INFO', 'memory'], ...(clustered ? [{ route: 'randomNode' }] : [])),
  silenceRemedy: 'Valkey GLIDE has the cause in its own log only. It leaves no silent connection: replace the client.',
}

/** The clients of Valkey GLIDE. */
export const ofGlide: ClientOf = (client, can) => {
  if (!can('customCommand')) return undefined
  const isCluster = can('invokeScriptWithRoute')
  const name = isCluster ? 'GLIDE cluster' : 'GLIDE'
  return adapterFor(client as GlideRedisClient, isCluster, { ...dialect, name })
}

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

// The packages as the npm registry would serve them, so that a project installs them with the documented commands.

/** A registry on this machine, for packages of our scope alone. It accepts what is published to it. */
export interface Registry {
  readonly url: string
  /** The packages that it has, each as `@spillway/NAME@VERSION`. */
  list(): readonly string[]
  /** The files that lead package managers to it, by their names. */
  readonly files: Readonly<Record<string, string>>
  stop(): void
}

/** Long ago: package managers install no package that is younger than they allow. */
const PUBLISHED = '2020-01-01T00:00:00.000Z'

interface Manifest {
  readonly name: string
  readonly version: string
}

/** What a registry says of a package that has one version. */
function documentOf(tarball: Buffer, manifest: Manifest, url: string): object {
  const hash = (algorithm: string, encoding: 'base64' | 'hex') => createHash(algorithm).update(tarball).digest(encoding)
  const dist = { tarball: url, integrity: `sha512-${hash('sha512', 'base64')}`, shasum: hash('sha1', 'hex') }
  const { name, version } = manifest
  return {
    name,
    'dist-tags': { latest: version },
    time: { created: PUBLISHED, modified: PUBLISHED, [version]: PUBLISHED },
    versions: { [version]: { ...manifest, dist } },
  }
}

/** What a client sends to publish a version. */
interface Published {
  readonly versions: Readonly<Record<string, Manifest>>
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>
}

/** Serves tarballs, which are given by the names of their packages without the scope. */
export async function startRegistry(tarballs: ReadonlyMap<string, string>): Promise<Registry> {
  const answers = new Map<string, Buffer>()
  const listed: string[] = []
  const add = (tarball: Buffer, manifest: Manifest): void => {
    const file = `/${manifest.name.replace('@spillway/', '')}.tgz`
    answers.set(file, tarball)
    answers.set(`/${manifest.name}`, Buffer.from(JSON.stringify(documentOf(tarball, manifest, url + file))))
    listed.push(`${manifest.name}@${manifest.version}`)
  }
  const publish = async (request: IncomingMessage): Promise<void> => {
    const { versions, _attachments } = (await json(request)) as Published
    const [manifest] = Object.values(versions)
    const [attachment] = Object.values(_attachments)
    if (manifest && attachment) add(Buffer.from(attachment.data, 'base64'), manifest)
  }
  const server = createServer(async (request, response) => {
    const { method, url = '/' } = request
    if (method === 'PUT') {
      await publish(request)
      response.writeHead(201, { 'content-type': 'application/json' }).end('{}')
      return
    }
    const answer = answers.get(decodeURIComponent(url))
    response.writeHead(answer ? 200 : 404, {
      'content-type': url.endsWith('.tgz') ? 'application/gzip' : 'application/json',
    })
    response.end(answer ?? '{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const path of tarballs.values()) {
    const manifest = execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' })
    add(readFileSync(path), JSON.parse(manifest))
  }
  return {
    url,
    list: () => listed,
    files: {
      '.npmrc': `@spillway:registry=${url}/\n`,
      '.yarnrc.yml': JSON.stringify({
        enableTelemetry: false,
        nodeLinker: 'pnp',
        npmScopes: { spillway: { npmRegistryServer: url } },
        unsafeHttpWhitelist: ['127.0.0.1'],
      }),
      'yarn.lock': '', // a project of its own, whatever folders it is in
      'pnpm-workspace.yaml': 'packages: []\n',
    },
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// The packages as the npm registry would serve them, so that a project installs them with the documented commands.

/** A registry on this machine, for packages of our scope alone. */
export interface Registry {
  readonly url: string
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

/** Serves tarballs, which are given by the names of their packages without the scope. */
export async function startRegistry(tarballs: ReadonlyMap<string, string>): Promise<Registry> {
  const answers = new Map<string, Buffer>()
  const server = createServer(({ url = '/' }, response) => {
    const answer = answers.get(decodeURIComponent(url))
    response.writeHead(answer ? 200 : 404, {
      'content-type': url.endsWith('.tgz') ? 'application/gzip' : 'application/json',
    })
    response.end(answer ?? '{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [name, path] of tarballs) {
    const tarball = readFileSync(path)
    const manifest = execFileSync('tar', ['-xzOf', path, 'package/package.json'], { encoding: 'utf8' })
    const file = `/${name}.tgz`
    answers.set(file, tarball)
    answers.set(
      `/@spillway/${name}`,
      Buffer.from(JSON.stringify(documentOf(tarball, JSON.parse(manifest), url + file))),
    )
  }
  return {
    url,
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

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as core from '@spillway/core/http/lean'
import { expect, inject, test } from 'vitest'
import { bundleOf } from './bundle.ts'
import { root } from './pack.ts'

// The page of the features, made of their folders: run with --update to write it.

const app = inject('app')
const folders = join(root, 'packages/core/src/features')

const isFeature = (value: unknown): value is core.Feature =>
  typeof value === 'object' && value !== null && 'layers' in value

const features: readonly core.Feature[] = Object.values<unknown>(core).filter(isFeature)

/** What the doc comment of a feature says. */
function docOf(name: string): string {
  for (const folder of readdirSync(folders)) {
    if (folder.endsWith('.ts')) continue
    const source = readFileSync(join(folders, folder, 'index.ts'), 'utf8')
    const [, doc] = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*export const ${name}\\b`).exec(source) ?? []
    if (doc !== undefined) return sentence(doc.replaceAll(/\s*\n \*/g, '').trim())
  }
  throw new Error(`The feature ${name} has no doc comment.`)
}

/** Without the options before the colon, which have a column. */
const sentence = (doc: string): string =>
  doc.replace(/^(?:`[^`]+`(?:, | and )?)+: (.)/, (_, first: string) => first.toUpperCase())

/** What a feature is built on, each before those that need it. */
const neededBy = ({ needs = [] }: core.Feature): readonly core.Feature[] => [
  ...new Set(needs.flatMap((each) => [...neededBy(each), each])),
]

const sizeWith = async (all: readonly core.Feature[]): Promise<number> => {
  const names = all.map(({ name }) => name)
  const code = `import { ${['createRateLimit', 'perMinute', ...names].join(', ')} } from '@spillway/hono/lean'
export const limit = createRateLimit(${names.join(', ')})({ quota: perMinute(100) })`
  return (await bundleOf(app, code)).size
}

/** Rounded up to half a kilobyte, so that the page changes with what a feature is. */
const kB = (bytes: number): string => `${Math.ceil(bytes / 500) / 2} kB`
const codes = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

async function rowOf(feature: core.Feature): Promise<string> {
  const { name, options = [], policyOptions = [] } = feature
  const needed = neededBy(feature)
  const size = (await sizeWith([...needed, feature])) - (await sizeWith(needed))
  const all = [...new Set([...options, ...policyOptions])]
  return `| \`${name}\` | ${docOf(name)} | ${codes(all)} | ${codes((feature.needs ?? []).map((each) => each.name))} | ${kB(size)} |`
}

test('the page lists each feature, its options, and the bytes that it adds; run with --update to write it', async () => {
  const rows = await Promise.all(features.map(rowOf))
  const page = `# Features

<!-- Made of the folders in packages/core/src/features by test/packages/features-page.test.ts. -->

\`rateLimit\` of every adapter has all features. Where kilobytes count, such as at the edge, build one of those that you name. It
throws for an option of another feature, and names the feature:

\`\`\`ts
import { createRateLimit, matching, perMinute, selectors, trustedProxies } from '@spillway/hono/lean'
import { Hono } from 'hono'

const app = new Hono()
const rateLimit = createRateLimit(trustedProxies, selectors, matching)

app.use(rateLimit({ quota: perMinute(100), trustProxy: 1, match: { path: '/login' } }))
\`\`\`

Without any, a limiter has a quota per client address or by a key function, counts in memory, and takes ${kB(await sizeWith([]))} of a
bundle, gzipped. Each feature adds to that:

| feature | what it is | its options | needs | adds |
| ------- | ---------- | ----------- | ----- | ---- |
${rows.join('\n')}

Without \`settling\`, no units are refunded, and decisions have no \`settle\`. A preflight then counts, and so does a request that is over
when its verdict arrives: a timeout has answered it, or its client has left while a remote store answered.

The [options](options.md) are the same in both. Bytes are those of \`@spillway/hono/lean\`, minified by esbuild and gzipped, without
those of the features that a feature needs.
`
  await expect(page).toMatchFileSnapshot(join(root, 'docs/features.md'))
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { root } from './pack.ts'

/** How one framework starts, as the first page of the docs says it. */
export interface Start {
  readonly name: string
  /** What `npm install` is given. */
  readonly packages: readonly string[]
  /** The program, for `app.mjs`. */
  readonly code: string
}

const BLOCK = /^\*\*([^*]+)\*\*\n\n```(ts|sh)\n(.*?)^```/gms
const INSTALL = 'npm install '

/** The ways to start that a page has. */
export function startsOf(page: string): readonly Start[] {
  const blocks = [...page.matchAll(BLOCK)].map(([, name = '', language, text = '']) => ({ name, language, text }))
  return blocks
    .filter(({ language }) => language === 'ts')
    .map(({ name, text }) => {
      const install = blocks.find((block) => block.name === name && block.language === 'sh')?.text ?? ''
      if (!install.startsWith(INSTALL)) throw new Error(`The page does not say how to install ${name}`)
      return { name, packages: install.slice(INSTALL.length).trim().split(' '), code: text }
    })
}

/** The ways to start of docs/start.md. */
export const starts = (): readonly Start[] => startsOf(readFileSync(join(root, 'docs/start.md'), 'utf8'))

/** What the page says of Node, where a program by itself serves nothing. */
export const FOR_FETCH = '@hono/node-server'

/** The start in Node, at a port: a handler by a server, and decorators as `tsx` compiles them. */
export function inNode({ name, packages, code: written }: Start, port = 3000): Start {
  const code = written.replace('3000', String(port))
  if (code.includes('export default')) {
    const served = `import { serve } from '${FOR_FETCH}'\n${code}\nserve({ fetch: handler, port: ${port} })`
    return { name, packages: [...packages, FOR_FETCH], code: served }
  }
  if (!code.includes('@Module(')) return { name, packages, code }
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } }
  return { name, packages, code: transformSync(code, { loader: 'ts', format: 'esm', tsconfigRaw }).code }
}

/** The first answer of a server: sends requests until it listens. */
export async function asked(url: string): Promise<Response> {
  for (;;) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer) return answer
    await new Promise((resolve) => setImmediate(resolve))
  }
}

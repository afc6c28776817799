/** The code of an app in the other frameworks: options and the order of the lines are the same in all. */
interface Framework {
  readonly name: string
  readonly install: string
  /** The lines that make the app, in the place of Express's. */
  readonly app: readonly [imported: string, made: string]
  readonly use: string
}

const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'Koa',
    install: 'npm install koa @spillway/koa',
    app: ["import Koa from 'koa'", 'const app = new Koa()'],
    use: 'app.use(',
  },
  {
    name: 'Hono',
    install: 'npm install hono @spillway/hono',
    app: ["import { Hono } from 'hono'", 'const app = new Hono()'],
    use: 'app.use(',
  },
  {
    name: 'Fastify',
    install: 'npm install fastify @spillway/fastify',
    app: ["import fastify from 'fastify'", 'const app = fastify()'],
    use: "app.addHook('onRequest', ",
  },
]

const [IMPORT, MADE, INSTALL] = [
  "import express from 'express'",
  'const app = express()',
  'npm install express @spillway/express',
]

/** The same sample for every framework; undefined if a part of it is of one framework only. */
function variants(code: string): readonly (readonly [name: string, code: string])[] | undefined {
  if (code.trim() === INSTALL)
    return [['Express', code], ...FRAMEWORKS.map(({ name, install }) => [name, `${install}\n`] as const)]
  const isApp = code.includes(IMPORT) && code.includes(MADE) && code.includes("'@spillway/express'")
  // Routes, handlers and request objects differ.
  if (!isApp || /\b(req|res|request|next)\b|app\.(?!use\(\s*rateLimit\()\w+\(|express\.\w/.test(code)) return undefined
  const translated = FRAMEWORKS.map(({ name, app: [imported, made], use }) => {
    const text = code
      .replace(IMPORT, imported)
      .replace(MADE, made)
      .replace("'@spillway/express'", `'@spillway/${name.toLowerCase()}'`)
      .replaceAll(/app\.use\(\s*(?=rateLimit)/g, use)
    return [name, text] as const
  })
  return [['Express', code], ...translated]
}

const FENCE = /^```(ts|sh)\n([\s\S]*?)^```$/gm
const LABELLED = /(?:^\*\*[^*\n]+\*\*\n\n```\w+\n[\s\S]*?^```\n\n?){2,}/gm

/**
 * Markdown whose samples for several frameworks are groups of tabs: samples under names in bold, and samples of Express
 * that are the same in other frameworks but for their first lines.
 */
export function withTabs(markdown: string): string {
  const grouped = markdown.replace(LABELLED, (blocks) => {
    const tabs = blocks.replace(/^\*\*([^*\n]+)\*\*\n\n```(\w+)$/gm, '```$2 [$1]')
    return `::: code-group\n\n${tabs.trimEnd()}\n\n:::\n\n`
  })
  return grouped.replace(FENCE, (block, language: string, code: string) => {
    const all = variants(code)
    if (all === undefined) return block
    const tabs = all.map(([name, text]) => `\`\`\`${language} [${name}]\n${text}\`\`\``)
    return `::: code-group\n\n${tabs.join('\n\n')}\n\n:::`
  })
}

import { type Statement, useOf } from './statements.ts'

/** The code of an app in another framework than Express: options and the order of the lines are the same in all. */
interface Framework {
  readonly name: string
  readonly install: string
  /** What is imported in the place of Express's app. */
  readonly imports: readonly string[]
  /** What is imported in the place of `rateLimit`. */
  readonly limit?: string
  /** The line that makes the app; without it, the statement does. */
  readonly made?: string
  /** The statement that limits the app. */
  readonly use: (statement: Statement) => string
}

const asIs = ({ text }: Statement): string => text

const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'Koa',
    install: 'npm install koa @spillway/koa',
    imports: ["import Koa from 'koa'"],
    made: 'const app = new Koa()',
    use: asIs,
  },
  {
    name: 'Hono',
    install: 'npm install hono @spillway/hono',
    imports: ["import { Hono } from 'hono'"],
    made: 'const app = new Hono()',
    use: asIs,
  },
  {
    name: 'Fastify',
    install: 'npm install fastify @spillway/fastify',
    imports: ["import fastify from 'fastify'"],
    made: 'const app = fastify()',
    use: ({ options }) => `app.addHook('onRequest', rateLimit(${options}))`,
  },
  {
    name: 'fetch',
    install: 'npm install @spillway/fetch',
    imports: [],
    use: ({ options }) =>
      `const limit = rateLimit(${options})\nexport default { fetch: limit(() => new Response('hello')) }`,
  },
  {
    name: 'NestJS',
    install: 'npm install @nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs @spillway/nestjs',
    imports: ["import { Module } from '@nestjs/common'"],
    limit: 'RateLimitModule',
    use: ({ options }) => `@Module({ imports: [RateLimitModule.forRoot(${options})] })\nexport class AppModule {}`,
  },
  {
    name: 'h3',
    install: 'npm install h3 @spillway/h3',
    imports: ["import { H3 } from 'h3'"],
    made: 'const app = new H3()',
    use: asIs,
  },
  {
    name: 'Elysia',
    install: 'npm install elysia @elysiajs/node @spillway/elysia',
    imports: ["import { Elysia } from 'elysia'"],
    made: 'const app = new Elysia()',
    use: asIs,
  },
]

const [IMPORT, MADE, INSTALL] = [
  "import express from 'express'\n",
  'const app = express()\n',
  'npm install express @spillway/express',
]

/** Code in a framework, by the name of its tab. */
type Variant = readonly [name: string, code: string]

/**
 * A sample of Express in every framework; none if a part of it is of one framework only. A sample `alone` has its imports
 * and makes its app; another one takes both for granted.
 */
function variants(code: string, alone: boolean): readonly Variant[] {
  if (code.trim() === INSTALL)
    return [['Express', code], ...FRAMEWORKS.map(({ name, install }): Variant => [name, `${install}\n`])]
  if (alone && !(code.includes(IMPORT) && code.includes(MADE) && code.includes("'@spillway/express'"))) return []
  const statement = useOf(code)
  // Routes, handlers and request objects differ.
  if (!statement || /\b(req|res|request|next)\b|express\.\w/.test(code)) return []
  const translated = FRAMEWORKS.map(({ name, imports, limit = 'rateLimit', made, use }): Variant => {
    const text = code
      .replace(statement.text, () => use(statement))
      .replace(IMPORT, imports.map((line) => `${line}\n`).join(''))
      .replace(MADE, made === undefined ? '' : `${made}\n`)
      .replace(/\brateLimit(?= \}| *,)/, limit)
      .replace("'@spillway/express'", `'@spillway/${name.toLowerCase()}'`)
    return [name, text]
  })
  return [['Express', code], ...translated]
}

const FENCE = /^(<!-- sample: \w+ -->\n+)?```(ts|sh)\n([\s\S]*?)^```$/gm
const LABELLED = /(?:^\*\*[^*\n]+\*\*\n\n```\w+\n[\s\S]*?^```\n\n?){2,}/gm

const variantsOf = (directive: string | undefined, code: string): readonly Variant[] =>
  directive === undefined || directive.includes(': express ') ? variants(code, directive === undefined) : []

/** The code that `withTabs` writes, with the prelude of each piece that takes its imports for granted. */
export const writtenIn = (
  markdown: string,
): readonly { readonly code: string; readonly prelude: string | undefined }[] =>
  [...markdown.matchAll(FENCE)].flatMap(([, directive, language, code = '']) =>
    language !== 'ts'
      ? []
      : variantsOf(directive, code)
          .slice(1)
          .map(([name, text]) => ({ code: text, prelude: directive && name.toLowerCase() })),
  )

/**
 * Markdown whose samples for several frameworks are groups of tabs: samples under names in bold, and samples of Express
 * that are the same in other frameworks but for how an app is limited.
 */
export function withTabs(markdown: string): string {
  const grouped = markdown.replace(LABELLED, (blocks) => {
    const tabs = blocks.replace(/^\*\*([^*\n]+)\*\*\n\n```(\w+)$/gm, '```$2 [$1]')
    return `::: code-group\n\n${tabs.trimEnd()}\n\n:::\n\n`
  })
  return grouped.replace(FENCE, (block, directive: string | undefined, language: string, code: string) => {
    const all = variantsOf(directive, code)
    if (all.length === 0) return block
    const tabs = all.map(([name, text]) => `\`\`\`${language} [${name}]\n${text}\`\`\``)
    return `::: code-group\n\n${tabs.join('\n\n')}\n\n:::`
  })
}

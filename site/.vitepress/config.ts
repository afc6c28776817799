import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin as VitePlugin } from 'vitepress'
import { withTabs } from './frameworks.ts'
import { frontmatter } from './frontmatter.ts'
import { linkWithin } from './links.ts'
import { placeOf, REPOSITORY, root } from './places.ts'
import { boostDocument, wordsOf } from './search.ts'
import { sidebar } from './sidebar.ts'
import { labelCells } from './tables.ts'

const mark = `data:image/svg+xml,${encodeURIComponent(readFileSync(new URL('mark.svg', import.meta.url), 'utf8'))}`

// The pages are outside of this package, so resolve Vue from here.
const pagesFindVue: VitePlugin = {
  name: 'pages find vue',
  enforce: 'pre',
  resolveId(id, page) {
    return /^vue($|\/)/.test(id) && page?.endsWith('.md') ? this.resolve(id, fileURLToPath(import.meta.url)) : null
  },
}

const { version } = JSON.parse(readFileSync(new URL('../../packages/core/package.json', import.meta.url), 'utf8'))
const SITE = 'https://spillwayjs.github.io'
const BASE = process.env['SITE_BASE'] ?? '/'
const DESCRIPTION = 'Rate limiting for Node and the edge: exact, fast, and still limiting if its store fails.'

/** The first paragraph of a page, as plain text: the description of the page. */
function descriptionOf(source: string): string {
  const text = readFileSync(`${root}/${source}`, 'utf8').replace(/<!--.*?-->|^```.*?^```$/gms, '')
  const paragraph = text.split(/\n\s*\n/).find((part) => /^[A-Z*`[]/.test(part.trim())) ?? DESCRIPTION
  const plain = paragraph.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/[*`\s]+/g, ' ')
  return plain.trim().slice(0, 200)
}

export default defineConfig({
  title: 'Spillway',
  description: DESCRIPTION,
  base: BASE,
  sitemap: { hostname: `${SITE}${BASE}` },
  lang: 'en',
  // Pages stay where readers of the repository expect them.
  srcDir: root,
  srcExclude: [
    'README.md',
    '!(docs|packages|examples|site)/**/*',
    'packages/*/*/**',
    'examples/*/*/**',
    'site/reference/README.md',
  ],
  rewrites: (source) => placeOf(source) ?? source,
  cacheDir: '.cache',
  vite: {
    publicDir: fileURLToPath(new URL('../public', import.meta.url)),
    plugins: [pagesFindVue],
    esbuild: { jsx: 'transform', jsxFactory: 'h', jsxInject: `import { h } from 'vue'` },
  },
  head: [['link', { rel: 'icon', href: mark, type: 'image/svg+xml' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // The same anchors as on GitHub.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .replace(/\s/g, '-'),
    },
    config: (md) => {
      md.core.ruler.before('normalize', 'tabs of frameworks', (state) => {
        state.src = withTabs(state.src)
      })
      md.core.ruler.push('labels of cells', ({ tokens }) => labelCells(tokens))
      md.core.ruler.push('repository links', ({ tokens, env }) => {
        // The search index has only the path of a page.
        for (const { children } of tokens) linkWithin(env.realPath ?? env.path, children ?? [])
      })
    },
  },
  transformPageData: ({ filePath, frontmatter: own }) => ({
    frontmatter: {
      ...frontmatter[filePath],
      ...(filePath.startsWith('site/reference/') && { pageClass: 'reference' }),
      ...own,
    },
    description: descriptionOf(filePath),
  }),
  transformHead: ({ title, description, page }) => [
    ['meta', { property: 'og:title', content: title }],
    ['meta', { property: 'og:description', content: description }],
    ['meta', { property: 'og:site_name', content: 'Spillway' }],
    ['meta', { property: 'og:url', content: `${SITE}${BASE}${page.replace(/(^|index)\.md$|\.md$/, '')}` }],
    ['meta', { property: 'og:image', content: `${SITE}${BASE}card.png` }],
    ['meta', { property: 'og:image:width', content: '1200' }],
    ['meta', { property: 'og:image:height', content: '630' }],
    ['meta', { property: 'og:image:alt', content: `Spillway: ${DESCRIPTION}` }],
    ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
  ],
  themeConfig: {
    logo: { src: mark, alt: '' },
    search: {
      provider: 'local',
      // Code blocks are slow to render, and the text around them is indexed.
      options: {
        _render: (text, env, md) => {
          const words = wordsOf(env.relativePath)
          const indexed = words === '' ? text : text.replace(/^# .+$/m, (heading) => `${heading}\n\n${words}`)
          return md.render(indexed.replace(/^```.*?^```$/gms, ''), env)
        },
        miniSearch: { searchOptions: { boostDocument } },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Learn', link: '/start', activeMatch: '^/(start|algorithms|guides/)' },
      { text: 'Recipes', link: '/recipes' },
      { text: 'Stores', link: '/guides/stores' },
      { text: 'Operate', link: '/guides/production' },
      { text: 'API', link: '/options', activeMatch: '^/(options|features|errors|reference/)' },
      { text: 'Playground', link: '/playground' },
      { text: `v${version}`, link: `${REPOSITORY}/releases` },
    ],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: {
      pattern: ({ filePath }) => `https://github.com/spillwayjs/spillway/edit/main/${filePath}`,
      text: 'Edit this page',
    },
    sidebar: sidebar(),
  },
})

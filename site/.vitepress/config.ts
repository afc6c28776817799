import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin as VitePlugin } from 'vitepress'
import { frontmatter } from './frontmatter.ts'
import { linkWithin } from './links.ts'
import { placeOf, root } from './places.ts'
import { sidebar } from './sidebar.ts'

const mark = `data:image/svg+xml,${encodeURIComponent(readFileSync(new URL('mark.svg', import.meta.url), 'utf8'))}`

// The pages are outside of this package, so resolve Vue from here.
const pagesFindVue: VitePlugin = {
  name: 'pages find vue',
  enforce: 'pre',
  resolveId(id, page) {
    return /^vue($|\/)/.test(id) && page?.endsWith('.md') ? this.resolve(id, fileURLToPath(import.meta.url)) : null
  },
}

export default defineConfig({
  title: 'Spillway',
  description: 'Rate limiting for Node and the edge: exact, fast, and still limiting if its store fails.',
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
      md.core.ruler.push('repository links', ({ tokens, env }) => {
        // The search index has only the path of a page.
        for (const { children } of tokens) linkWithin(env.realPath ?? env.path, children ?? [])
      })
    },
  },
  transformPageData: ({ filePath, frontmatter: own }) => ({ frontmatter: { ...frontmatter[filePath], ...own } }),
  themeConfig: {
    logo: { src: mark, alt: '' },
    search: {
      provider: 'local',
      // Code blocks are slow to render, and the text around them is indexed.
      options: { _render: (text, env, md) => md.render(text.replace(/^```.*?^```$/gms, ''), env) },
    },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Playground', link: '/playground' },
      { text: 'Algorithms', link: '/algorithms' },
      { text: 'Errors', link: '/errors' },
    ],
    sidebar: sidebar(),
  },
})

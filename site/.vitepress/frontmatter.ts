// The layout of pages. It is not in the pages, because readers of the repository and the formatter do not need it.

const home = {
  layout: 'home',
  title: 'Rate limiting for Node and the edge',
  hero: {
    name: 'Spillway',
    text: 'Rate limiting for Node and the edge',
    tagline:
      'Exact to the microsecond. The same decision from memory, Redis and PostgreSQL. Still limiting if the store fails.',
    actions: [
      { theme: 'brand', text: 'Start', link: '/start' },
      { theme: 'alt', text: 'See it work', link: '/playground' },
      { theme: 'alt', text: 'Which algorithm?', link: '/algorithms' },
    ],
  },
}

export const frontmatter: Readonly<Record<string, object>> = {
  'docs/index.md': home,
  'docs/playground.md': { layout: 'page', sidebar: false },
  // Lanes alone, for the frames of other pages.
  'site/embed.md': { layout: false, search: false, title: 'Spillway' },
}

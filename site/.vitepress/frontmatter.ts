// How pages are laid out, kept out of the pages: readers of the repository, and the formatter, want none of it.

const home = {
  layout: 'home',
  title: 'Rate limiting for Node and the edge',
  hero: {
    name: 'Spillway',
    text: 'Rate limiting for Node and the edge',
    tagline: 'Exact to the microsecond. The same answer from memory, Redis and PostgreSQL. Calm when its store dies.',
    actions: [
      { theme: 'brand', text: 'Start', link: '/start' },
      { theme: 'alt', text: 'See it work', link: '/playground' },
      { theme: 'alt', text: 'Which algorithm?', link: '/algorithms' },
    ],
  },
  features: [
    {
      title: 'Exact',
      details:
        'All arithmetic is whole microseconds. A client that waits as long as it is told is admitted; one that comes a microsecond sooner is not.',
      link: '/algorithms',
    },
    {
      title: 'All or none',
      details:
        'Several policies are taken together or not at all. A refused request spends nothing and leaves no trace.',
      link: '/guides/keys',
    },
    {
      title: 'One kernel, every store',
      details:
        'Each algorithm is one small pure function. Every store is held against the same suite by random histories.',
      link: '/guides/stores',
    },
    {
      title: 'Calm',
      details:
        'A deadline and a circuit breaker stand before a store elsewhere. You say what becomes of requests meanwhile.',
      link: '/guides/failure',
    },
    {
      title: 'Errors that teach',
      details:
        'What was wrong, the value seen, what to write instead. Misspelt options are refused, with a suggestion.',
      link: '/errors',
    },
    {
      title: 'Any framework',
      details:
        'Express, Koa, Hono, Fastify, and whatever takes a Request and answers a Response. The options are the same.',
      link: '/start',
    },
  ],
}

export const frontmatter: Readonly<Record<string, object>> = {
  'docs/index.md': home,
  'docs/playground.md': { layout: 'page', sidebar: false },
}

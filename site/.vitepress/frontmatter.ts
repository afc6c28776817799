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
  features: [
    {
      title: 'Exact',
      details:
        'All arithmetic is in whole microseconds. After retryAfterMs a request fits; a microsecond earlier it does not.',
      link: '/algorithms',
    },
    {
      title: 'All-or-nothing',
      details: 'Several policies are checked atomically. A denied request consumes nothing and writes nothing.',
      link: '/guides/keys',
    },
    {
      title: 'One algorithm, every store',
      details:
        'Each algorithm is one small pure function. Every store passes the same conformance suite with random histories.',
      link: '/guides/stores',
    },
    {
      title: 'Fault-tolerant',
      details:
        'A remote store has a deadline and a circuit breaker. You choose the failure mode: local, allow or deny.',
      link: '/guides/failure',
    },
    {
      title: 'Errors that teach',
      details:
        'Each error says what was wrong, the value seen, and what to write instead. Misspelt options are rejected, with a suggestion.',
      link: '/errors',
    },
    {
      title: 'Any framework',
      details:
        'Express, Koa, Hono, Fastify, h3, Elysia, and any handler from Request to Response. The options are the same.',
      link: '/start',
    },
  ],
}

export const frontmatter: Readonly<Record<string, object>> = {
  'docs/index.md': home,
  'docs/playground.md': { layout: 'page', sidebar: false },
}

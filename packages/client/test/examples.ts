import type { RateLimitReport, ReportedLimit } from '@spillway/client'

// cspell:ignore perhr permin resettime
// Answers as their documentation shows them; the values are those of its examples.

/** Headers of an answer, and what they say. */
export interface Example {
  readonly partner: string
  /** The page that has it. */
  readonly page: string
  readonly headers: Readonly<Record<string, string>>
  readonly report: RateLimitReport
}

const limit = (parts: Partial<ReportedLimit>): ReportedLimit => ({
  name: undefined,
  unit: 'requests',
  limit: undefined,
  windowMs: undefined,
  remaining: undefined,
  resetAfterMs: undefined,
  ...parts,
})

const report = (limits: readonly Partial<ReportedLimit>[], retryAfterMs?: number): RateLimitReport => ({
  retryAfterMs,
  limits: limits.map(limit),
})

/** Half a minute before what X resets at. */
const DATE = 'Tue, 16 Jan 2024 15:59:30 GMT'

export const EXAMPLES: readonly Example[] = [
  {
    partner: 'GitHub',
    page: 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api',
    headers: {
      date: 'Mon, 01 Jul 2013 17:00:00 GMT',
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4987',
      'x-ratelimit-used': '13',
      'x-ratelimit-reset': '1372700873',
      'x-ratelimit-resource': 'core',
    },
    report: report([{ limit: 5000, remaining: 4987, resetAfterMs: 2_873_000 }]),
  },
  {
    partner: 'GitHub, a secondary limit',
    page: 'https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api',
    headers: { 'retry-after': '60' },
    report: report([], 60_000),
  },
  {
    partner: 'X',
    page: 'https://docs.x.com/fundamentals/rate-limits',
    headers: {
      date: DATE,
      'x-rate-limit-limit': '900',
      'x-rate-limit-remaining': '847',
      'x-rate-limit-reset': '1705420800',
    },
    report: report([{ limit: 900, remaining: 847, resetAfterMs: 30_000 }]),
  },
  {
    partner: 'OpenAI',
    page: 'https://platform.openai.com/docs/guides/rate-limits',
    headers: {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '6m0s',
    },
    report: report([
      { limit: 60, remaining: 59, resetAfterMs: 1_000 },
      { unit: 'tokens', limit: 150_000, remaining: 149_984, resetAfterMs: 360_000 },
    ]),
  },
  {
    partner: 'OpenAI, a denial',
    page: 'https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits',
    headers: { 'retry-after-ms': '1240', 'retry-after': '2' },
    report: report([], 1_240),
  },
  {
    partner: 'Anthropic',
    page: 'https://docs.anthropic.com/en/api/rate-limits',
    headers: {
      date: 'Tue, 16 Jan 2024 15:59:30 GMT',
      'retry-after': '12',
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2024-01-16T15:59:42Z',
      'anthropic-ratelimit-input-tokens-limit': '30000',
      'anthropic-ratelimit-input-tokens-remaining': '21000',
      'anthropic-ratelimit-input-tokens-reset': '2024-01-16T16:00:00Z',
    },
    report: report(
      [
        { limit: 50, remaining: 0, resetAfterMs: 12_000 },
        { unit: 'input-tokens', limit: 30_000, remaining: 21_000, resetAfterMs: 30_000 },
      ],
      12_000,
    ),
  },
  {
    partner: 'Discord',
    page: 'https://docs.discord.com/developers/topics/rate-limits',
    headers: {
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1470173023.123',
      'x-ratelimit-reset-after': '64.57',
      'x-ratelimit-bucket': 'abcd1234',
    },
    report: report([{ limit: 5, remaining: 0, resetAfterMs: 64_570 }]),
  },
  {
    partner: 'Shopify',
    page: 'https://shopify.dev/docs/api/admin-rest/usage/rate-limits',
    headers: { 'x-shopify-shop-api-call-limit': '32/40', 'retry-after': '2.0' },
    report: report([{ limit: 40, remaining: 8 }], 2_000),
  },
  {
    partner: 'Stripe',
    page: 'https://docs.stripe.com/rate-limits',
    headers: { 'stripe-rate-limited-reason': 'global-rate' },
    report: report([]),
  },
  {
    partner: 'Okta',
    page: 'https://developer.okta.com/docs/reference/rl-best-practices/',
    headers: {
      date: DATE,
      'x-rate-limit-limit': '600',
      'x-rate-limit-remaining': '0',
      'x-rate-limit-reset': '1705420800',
    },
    report: report([{ limit: 600, remaining: 0, resetAfterMs: 30_000 }]),
  },
  {
    partner: 'GitLab',
    page: 'https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/',
    headers: {
      date: 'Tue, 05 Jan 2021 10:59:30 GMT',
      'ratelimit-limit': '60',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '1609844400',
      'ratelimit-resettime': 'Tue, 05 Jan 2021 11:00:00 GMT',
      'retry-after': '30',
    },
    report: report([{ limit: 60, remaining: 0, resetAfterMs: 30_000 }], 30_000),
  },
  {
    partner: 'draft 11',
    page: 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/',
    headers: {
      'ratelimit-policy': '"permin";q=50;w=60,"perhr";q=1000;w=3600',
      ratelimit: '"permin";r=50;t=12',
    },
    report: report([
      { name: 'permin', limit: 50, windowMs: 60_000, remaining: 50, resetAfterMs: 12_000 },
      { name: 'perhr', limit: 1000, windowMs: 3_600_000 },
    ]),
  },
  {
    partner: 'draft 7',
    page: 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/07/',
    headers: {
      ratelimit: 'limit=100, remaining=50, reset=5',
      'ratelimit-policy': '10;w=1, 100;w=60;comment="a; b, c"',
    },
    report: report([{ limit: 100, windowMs: 60_000, remaining: 50, resetAfterMs: 5_000 }]),
  },
  {
    partner: 'draft 2',
    page: 'https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/02/',
    headers: {
      'ratelimit-limit': '100, 100;w=60, 1000;w=3600',
      'ratelimit-remaining': '50',
      'ratelimit-reset': '50',
    },
    report: report([{ limit: 100, windowMs: 60_000, remaining: 50, resetAfterMs: 50_000 }]),
  },
]

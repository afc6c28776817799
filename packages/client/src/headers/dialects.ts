// Limits in fields of one number each, by how the names of `limit`, `remaining` and `reset` begin and end.

/** Draft 6; GitHub, Discord and most others; X and Okta; OpenAI; Anthropic. */
export const dialects = (): readonly (readonly [prefix: string, suffix: string, unit: string])[] => [
  ['ratelimit-', '', 'requests'],
  ['x-ratelimit-', '', 'requests'],
  ['x-rate-limit-', '', 'requests'],
  ['x-ratelimit-', '-requests', 'requests'],
  ['x-ratelimit-', '-tokens', 'tokens'],
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
    (unit) => [`anthropic-ratelimit-${unit}-`, '', unit] as const,
  ),
]

/** Shopify: `32/40`, the calls in its bucket, and how many it holds. */
export const SHOPIFY = 'x-shopify-shop-api-call-limit'

/** The first value of a parameter, as parsers of queries return it: text, or a list if it is repeated. */
export function firstValue(parsed: unknown): string | undefined {
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  return typeof first === 'string' ? first : undefined
}

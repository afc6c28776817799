/** The key of several parts. The length of each is included, so that different lists of parts never result in one key. */
export const joinParts = (texts: readonly string[]): string => texts.map((text) => `${text.length}:${text}`).join('')

/**
 * A copy of a text that does not keep the string that it was cut from in memory: what is cut from a string that was just
 * joined keeps only that. Engines copy short texts anyway.
 */
export const copyOf = (text: string): string => (text.length < 13 ? text : ` ${text}`.slice(1))

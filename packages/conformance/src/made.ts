/** Makes a value at import, in a call that can be marked as pure: bundlers keep what other calls make, even if it is not used. */
export const made = <T>(make: () => T): T => make()

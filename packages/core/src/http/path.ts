/**
 * The segments of a path, as lenient as the most lenient router: no empty ones, in lower case, decoded. A policy must
 * not be walked around by another spelling of the same address.
 */
export function segmentsOf(path: string): readonly string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decoded(segment).toLowerCase())
}

/** A path in the one spelling that all others of it come to: `/login` for `//LOGIN/`. */
export const plainPath = (path: string): string => `/${segmentsOf(path).join('/')}`

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/**
 * A hash of 32 bits, the same in all processes: FNV-1a, mixed once more because similar texts would hash to close numbers. For
 * what a client does not gain by choosing texts that collide: see `digest.ts` for the rest.
 */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0
}

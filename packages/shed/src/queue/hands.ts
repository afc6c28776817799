/** The lanes of a priority. */
export const QUEUES = 128
/** How many of them a key may use. */
export const HAND = 8

/**
 * Deals a hand of cards from a deck, as `draws` says: each is a number below the count of cards that are left. All hands are
 * equally likely if all draws are.
 */
export function deal(draws: readonly number[]): number[] {
  const sorted: number[] = []
  for (const draw of draws) {
    // The card of this rank among those that are left: dealt cards of lower ranks are passed over.
    let card = draw
    let place = 0
    while (place < sorted.length && (sorted[place] as number) <= card) {
      card += 1
      place += 1
    }
    sorted.splice(place, 0, card)
  }
  return sorted
}

/**
 * The hand of a key: always the same in one process. Two keys share all queues of a hand in one of 1.4e12 cases, so that a key
 * that fills its queues leaves others to everybody else.
 */
export function handOf(key: string, salt: number): readonly number[] {
  const random = randomOf(hashOf(key, salt), hashOf(key, ~salt))
  const draws: number[] = []
  for (let left = QUEUES; left > QUEUES - HAND; left--) draws.push(Math.floor(random() * left))
  return deal(draws)
}

/** FNV-1a, and a finalizer, as its last bits depend on the last characters only. */
function hashOf(text: string, salt: number): number {
  let hash = salt ^ 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixed(hash)
}

function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

/** Random numbers from 0 to 1, of 64 bits of state. */
function randomOf(a: number, b: number): () => number {
  let [left, right] = [a, b]
  return () => {
    left = (left + 0x9e3779b9) | 0
    right = mixed(right ^ left)
    return mixed(left ^ right) / 2 ** 32
  }
}

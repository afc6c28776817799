import { invalidOption, QuotaError } from '../common/errors.ts'
import { checkFunctions } from '../common/options.ts'
import type { StateKey, Store } from '../stores/store.ts'
import { checkIsStore } from '../stores/store-kinds.ts'
import { deletingAll, listing, storeTraits, takingEach } from './forwarding.ts'

/**
 * Returns a store that stores only the hashes of keys: no address, user or token of your clients. `hash` must be
 * collision-free and secret, such as an HMAC: there are so few addresses that an attacker can try all of them. A changed
 * hash finds no earlier state. Throws a `QuotaError` if `hash` is not a function; requests fail with one if it returns no string.
 */
export function withHashedKeys(store: Store, hash: (key: string) => string): Store {
  checkIsStore('the store of withHashedKeys', store)
  checkFunctions({ hash }, ['hash'], true)
  const hashed = <T extends StateKey>(state: T): T => ({ ...state, key: checkHash(hash(state.key)) })
  return {
    ...storeTraits(store, hashed),
    take: (ops, at, deadline) => store.take(ops.map(hashed), at, deadline),
    ...takingEach(store, (batches, at, deadline, takeEach) =>
      takeEach(
        batches.map((ops) => ops.map(hashed)),
        at,
        deadline,
      ),
    ),
    delete: (keys, deadline) => store.delete(keys.map(hashed), deadline),
    ...deletingAll(store),
    ...listing(store, (state) => ({ ...state, isDigest: true })),
  }
}

/** Checks what `hash` has returned: a store would count requests by other values without an error. */
function checkHash(hash: unknown): string {
  if (typeof hash === 'string') return hash
  const hint = hash instanceof Promise ? 'Use a hash that needs no promise' : "Encode it, such as by digest('hex')"
  throw invalidOption('withHashedKeys: hash must return a string', hash, `${hint}.`)
}

/** Checks a secret that keys are hashed with; `what` names the store in the error. */
export function checkSecret(what: string, secret: unknown): string {
  if (typeof secret === 'string' && secret.length >= 16) return secret
  if (secret === undefined) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `${what} hashKeys is undefined: is its environment variable set? Leave the option out to keep keys readable.`,
    )
  }
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} hashKeys must be a secret of 16 characters or more, the same in all processes, such as one made by \`openssl rand -base64 32\`.`,
  )
}

import * as crypto from 'node:crypto'
import type { StateKey } from '@spillway/core'
import { digestOf, keyedDigest, type Names, namesOf } from '@spillway/stores/internal'

/** The maximum length of a key and a policy that are stored unchanged. An index entry holds at most some 2,700 bytes. */
export const LONGEST_KEY = 200
export const LONGEST_POLICY = 400

const NAMES = /* @__PURE__ */ namesOf({ crypto, longestPolicy: LONGEST_POLICY, longestKey: LONGEST_KEY })

/** The name of a state's row. */
export const rowName = (state: StateKey): string => NAMES.of(state)

/** The prefix of the names of a policy's rows. No other policy's names start with it. */
export const startOf = (policy: string): string => NAMES.startOf(policy)

/** The key in a name that begins with `start`. */
export const keyIn: Names['keyIn'] = (start, name) => NAMES.keyIn(start, name)

/** A hash of any text, which no key and no policy begin with. */
export const hashOf = (text: string): string => digestOf(crypto, text)

/** Returns a keyed hash: HMAC-SHA-256, truncated to 132 bits, in base64url. */
export const keyed =
  (secret: string) =>
  (key: string): string =>
    keyedDigest(crypto, secret, key)

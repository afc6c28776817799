import { guess, hintOfPeer, peerOption } from '../../common/guess.ts'
import type { RequestHints } from '../../http/pipeline/request-sources.ts'
import type { Feature, Seams } from '../../http/pipeline/seams.ts'
import { patternHint } from './pattern-hint.ts'

/** Errors that know the options of other rate limiters, and guess what was misspelt. */
export const hints: Feature = { name: 'hints', layers: { hint, sources } }

const HINTS: RequestHints = { name: guess, pattern: patternHint }

function hint<R, S>(): Seams<R, S>['hint'] {
  return (option, known, given, peerHint = '') => {
    if (given === undefined) return hintOfPeer(option, known) ?? guess(option, known)
    const here = peerOption(option)
    if (here) return `Here that is ${here}${peerHint}.`
    // Without any known option, the argument is a request. With `kernel`, it is a quota.
    if (option !== 'kernel' && given.some((each) => known.includes(each))) return guess(option, known)
    return 'It is called once, when the app is built, with options: app.use(rateLimit({ quota: perMinute(100) })).'
  }
}

function sources<R, S>(next: Seams<R, S>['sources']): Seams<R, S>['sources'] {
  return (options, reader, logger) => ({ ...next(options, reader, logger), hints: HINTS })
}

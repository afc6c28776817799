import { hintOfPeer, peerOption } from '../../common/options.ts'
import type { Feature, Seams } from '../../http/pipeline/seams.ts'

/** Errors that know the options of other rate limiters. */
export const hints: Feature = { name: 'hints', layers: { hint } }

function hint<R, S>(): Seams<R, S>['hint'] {
  return (option, known, given, peerHint = '') => {
    if (given === undefined) return hintOfPeer(option, known)
    const here = peerOption(option)
    if (here) return `Here that is ${here}${peerHint}.`
    // Without any known option, the argument is a request. With `kernel`, it is a quota.
    if (option !== 'kernel' && given.some((each) => known.includes(each))) return undefined
    return 'It is called once, when the app is built, with options: app.use(rateLimit({ quota: perMinute(100) })).'
  }
}

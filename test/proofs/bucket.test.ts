import { provedBucketVectors } from '../../packages/conformance/src/vectors/proofs-bucket.ts'
import { bucketProperties } from './bucket.ts'
import { fractionProperties } from './fraction.ts'
import { kernelSource } from './kernels.ts'
import { programOf } from './replay.ts'
import { type Properties, proves } from './suite.ts'

const propertiesOf = (source: string): Properties => ({ ...bucketProperties(source), ...fractionProperties(source) })

const SLOW = [
  'a take ends at most one burst after now, and after all earlier takes',
  'a denied request of parts is allowed at the time that it is given, and not a microsecond before',
]

proves(
  'every bucket, state, cost and time',
  kernelSource(),
  propertiesOf,
  SLOW,
  {
    'denies a request that just fits': {
      text: 'fitsAt(base, step) <= due',
      replacement: 'fitsAt(base, step) < due',
      property: 'a denied request is allowed at the time that it is given, and not a microsecond before',
    },
    'allows a request a microsecond early': {
      text: 'base.tick + check - tolerance,',
      replacement: 'base.tick + check - tolerance - 1,',
      property: 'a take ends at most one burst after now, and after all earlier takes',
    },
    'keeps a state from the future': {
      text: '.withinCeiling ? state : stateAt(',
      replacement: '.withinCeiling || true ? state : stateAt(',
      property: 'a denial and a peek leave the state, unless the clock has stepped back',
    },
    'refills a bucket when the clock steps back': {
      text: '{ tick: nowTick + ceiling, early: 0 }',
      replacement: '{ tick: nowTick, early: 0 }',
      property: 'a clock that steps back adds no units, and denies for one bucket at most',
    },
    'denies for longer than a bucket takes to refill': {
      text: 'tat - nowTick <= ceiling',
      replacement: 'tat - nowTick <= 2 * ceiling',
      property: 'a clock that steps back adds no units, and denies for one bucket at most',
    },
    'forgets the units in use': {
      text: 'latest(withinCeiling ?',
      replacement: 'earliest(withinCeiling ?',
      property: 'time that passes refills one tick a microsecond, and no more',
    },
    'consumes a tick less': {
      text: 'exactly(tick + increment, early +',
      replacement: 'exactly(tick + increment - 1, early +',
      property: 'a take ends at most one burst after now, and after all earlier takes',
    },
    'returns units that have refilled': {
      text: '{ tick: base.tick - nowTick, early: base.early }',
      replacement: '{ tick: base.tick, early: base.early }',
      property: 'a refund returns at most its units, and nothing that has refilled',
    },
    'returns units on which a later take relies': {
      text: 'tick - Math.max(nowTick, turn)',
      replacement: 'tick - nowTick',
      property: 'a refund leaves later takes their turns, in a queue too',
    },
    'returns more than was taken': {
      text: 'room.tick > 0 ? earliest(refunded, room)',
      replacement: 'room.tick > 0 ? room',
      property: 'a refund leaves later takes their turns, in a queue too',
    },
    'takes a debt for a clock that has stepped back': {
      text: 'base.tick - nowTick > ceiling ? -moment : moment',
      replacement: 'moment',
      property: 'a charge may exceed the bucket, and is owed',
    },
    'drops the parts of a microsecond': {
      text: 'early + (fraction ?? WHOLE).increment,',
      replacement: 'early,',
      property: 'a take of parts of a microsecond ends exactly one cost later, within the burst',
    },
    'compares whole microseconds only': {
      text: 'base.early + parts.check - parts.tolerance,',
      replacement: 'base.early,',
      property: 'a take of parts of a microsecond ends exactly one cost later, within the burst',
    },
  },
  { vectors: provedBucketVectors, programOf, printed: true },
)

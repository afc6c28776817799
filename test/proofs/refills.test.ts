import { bucketVectors } from '../../packages/conformance/src/vectors/bucket.ts'
import { kernelSource } from './kernels.ts'
import { refillProperties, type Schedule } from './refills.ts'
import { programOf } from './replay.ts'
import { type Properties, proves } from './suite.ts'

/** The second is a fixed window of a day. The units of the first take no whole microseconds. */
const schedules: Readonly<Record<string, Schedule>> = {
  'three in ten seconds': { interval: 10e6, amount: 3, tick: 3_333_333, offset: 0 },
  'a thousand a day': { interval: 86_400e6, amount: 1000, tick: 86_400_000, offset: 3_600e6 },
}

const propertiesOf = (source: string): Properties =>
  Object.fromEntries(
    Object.entries(schedules).flatMap(([what, schedule]) =>
      Object.entries(refillProperties(source, schedule)).map(([name, property]) => [`${what}: ${name}`, property]),
    ),
  )

const SLOW = [
  'a take ends at most one burst after now, and is what is stored',
  'a denial and a peek leave the state, unless the clock has stepped back',
  'a refund returns at most its units, and nothing that has refilled',
  'a charge may exceed the bucket, and is owed',
]

proves(
  'every bucket that refills at intervals, state, cost and time',
  kernelSource(),
  propertiesOf,
  Object.keys(schedules).flatMap((what) => SLOW.map((name) => `${what}: ${name}`)),
  {
    'refills a microsecond late': {
      text: 'Math.floor((now + schedule.offset) / schedule.interval)',
      replacement: 'Math.floor((now + schedule.offset - 1) / schedule.interval)',
      property: 'three in ten seconds: an amount refills at the start of each interval, and nothing in between',
    },
    'stores a unit too many': {
      text: 'tick % schedule.amount * schedule.tick',
      replacement: '(tick % schedule.amount + 1) * schedule.tick',
      property: 'three in ten seconds: a take ends at most one burst after now, and is what is stored',
    },
    'has a caller wait an interval too long': {
      text: '(Math.ceil(units / amount) - 1) * interval',
      replacement: 'Math.ceil(units / amount) * interval',
      property:
        'three in ten seconds: a denied request fits at the time that it is given, and not a microsecond before',
    },
    'has a caller come an interval too early': {
      text: '(Math.ceil(units / amount) - 1) * interval',
      replacement: '(Math.floor(units / amount) - 1) * interval',
      property: 'a thousand a day: a denied request fits at the time that it is given, and not a microsecond before',
    },
    'denies a request that just fits': {
      text: 'fitsAt(base, step) <= due',
      replacement: 'fitsAt(base, step) < due',
      property: 'three in ten seconds: a bucket is full at the tick of its state, and one size from now at most',
    },
    'refills a bucket when the clock steps back': {
      text: '{ tick: nowTick + ceiling, early: 0 }',
      replacement: '{ tick: nowTick, early: 0 }',
      property: 'three in ten seconds: a bucket is full at the tick of its state, and one size from now at most',
    },
    'returns units that have refilled': {
      text: '{ tick: base.tick - nowTick, early: base.early }',
      replacement: '{ tick: base.tick, early: base.early }',
      property: 'a thousand a day: a refund returns at most its units, and nothing that has refilled',
    },
    'takes a debt for a clock that has stepped back': {
      text: 'base.tick - nowTick > ceiling ? -moment : moment',
      replacement: 'moment',
      property: 'three in ten seconds: a charge may exceed the bucket, and is owed',
    },
  },
  { vectors: bucketVectors, programOf, arithmetic: 2 },
)

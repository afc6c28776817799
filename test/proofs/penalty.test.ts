import { penaltyVectors } from '../../packages/conformance/src/vectors/penalty.ts'
import { kernelSource } from './kernels.ts'
import { penaltyProperties } from './penalty.ts'
import { programOf } from './replay.ts'
import { type Properties, proves } from './suite.ts'

const propertiesOf = (source: string): Properties => ({
  ...penaltyProperties(source, false),
  ...Object.fromEntries(
    Object.entries(penaltyProperties(source, true)).map(([name, property]) => [`extended: ${name}`, property]),
  ),
})

proves(
  'every penalty, state, cost and time',
  kernelSource(),
  propertiesOf,
  [],
  {
    'allows a unit too many': {
      text: 'used + step.check <= step.limit',
      replacement: 'used + step.check <= step.limit + 1',
      property: 'a request is allowed if and only if its key is not blocked, and its units fit those of the window',
    },
    'allows requests during a block': {
      text: 'base.until > 0 ? Math.max(base.count, step.limit) : base.count',
      replacement: '0 * base.count',
      property: 'a request is allowed if and only if its key is not blocked, and its units fit those of the window',
    },
    'lets a window end a microsecond late': {
      text: 'now - first >= window',
      replacement: 'now - first > window',
      property: 'a request is allowed if and only if its key is not blocked, and its units fit those of the window',
    },
    'lets a block end a microsecond late': {
      text: 'if (until > now)',
      replacement: 'if (until >= now)',
      property: 'a denied request is allowed at the time that it is given, and not a microsecond before',
    },
    'blocks a unit too late': {
      text: 'if (count < step.limit) return',
      replacement: 'if (count <= step.limit) return',
      property: 'the units that reach the limit block the key at once, for the length of a block',
    },
    'blocks for a microsecond less': {
      text: 'return { ...base, count, until: Math.max(base.until, base.writtenAt + lengthOf(step, base.level)) };',
      replacement:
        'return { ...base, count, until: Math.max(base.until, base.writtenAt + lengthOf(step, base.level) - 1) };',
      property: 'the units that reach the limit block the key at once, for the length of a block',
    },
    'has a caller wait a microsecond too long': {
      text: 'first + window) - now',
      replacement: 'first + window + 1) - now',
      property: 'a denied request is allowed at the time that it is given, and not a microsecond before',
    },
    'ends a block earlier when the clock steps back': {
      text: 'state.until > 0 ? state.until - back : 0',
      replacement: 'state.until > 0 ? state.until - 2 * back : 0',
      property: 'a clock that steps back adds no units, and denies for as long as before',
    },
    'denies for longer when the clock steps back': {
      text: 'state.until > 0 ? state.until - back : 0',
      replacement: 'state.until',
      property: 'a clock that steps back adds no units, and denies for as long as before',
    },
    'counts no block before': {
      text: 'until > 0 ? state.level + 1 : state.level',
      replacement: 'state.level',
      property: 'blocks in a row are counted until they are forgiven',
    },
    'forgives a microsecond late': {
      text: 'now - last >= forgive',
      replacement: 'now - last > forgive',
      property: 'blocks in a row are counted until they are forgiven',
    },
    'returns units of a window that is over': {
      text: 'since === 0 || since === base.first',
      replacement: 'since <= base.first',
      property: 'a refund returns its units to the window that counts them, and lifts the block that they have started',
    },
    'lifts a block whose units are still there': {
      text: 'give > 0 && count < limit ? 0',
      replacement: 'give > 0 ? 0',
      property: 'a refund returns its units to the window that counts them, and lifts the block that they have started',
    },
    'starts a block again with a peek': {
      text: 'extend && verb === "consume"',
      replacement: 'extend',
      property: 'extended: a peek leaves the state, unless the clock has stepped back',
    },
    'starts no block again': {
      text: 'if (!step.extend || base.until === 0) return base;',
      replacement: 'return base;',
      property: 'extended: a denial during a block starts it again, and changes nothing else',
    },
  },
  { vectors: penaltyVectors, programOf },
)

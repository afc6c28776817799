import type { BucketStep, BucketTaken, Micros, SentStep, State, Step } from '@spillway/core'
import { receivedStep } from '@spillway/core/internal'
import {
  type Answer,
  batchesOf,
  type Effect,
  effectOf,
  type Keyspace,
  type Op,
  runBatches,
  stepsReader,
} from '../batches.ts'

/** What a script call does: batches in order, each all-or-nothing. */
export interface Program {
  readonly at: Micros | undefined
  readonly keys: readonly string[]
  readonly batches: readonly (readonly Op[])[]
  readonly reply: (now: Micros, answers: readonly Answer[], before: (name: string) => State | undefined) => unknown[]
}

/** Runs a script of the Redis store by the TypeScript kernels: the same arguments, the same reply. */
export function runProgram(space: Keyspace, { at, keys, batches, reply }: Program): [unknown[], Effect[]] {
  const now = at ?? space.now()
  const before = new Map(keys.map((name) => [name, space.read(name)]))
  const answers = runBatches(space, now, batches)
  return [reply(now, answers, (name) => before.get(name)), answers.flatMap(effectOf)]
}

/** Reads what a script call does from its keys and its other arguments. */
export const programOf = (keys: readonly string[], given: readonly string[]): Program =>
  // The general script has the same number of arguments as the shortest one for buckets, but its second is a JSON array.
  given[1]?.startsWith('[') ? generalProgram(keys, given) : bucketsProgram(keys, given)

// The fields that the store does not send, as no kernel reads them then.
const UNSENT = {
  burst: 0,
  until: Number.MAX_SAFE_INTEGER,
  ends: 0,
  whole: false,
  schedule: null,
  start: null,
  calendar: null,
  offset: null,
  peek: false,
}

const stepsIn = stepsReader((text) =>
  (JSON.parse(text) as Step[]).map((step) => {
    const { fraction = null } = step as Partial<BucketStep>
    const sent = { ...UNSENT, ...step, fraction: fraction && { ...{ burst: 0, until: 0 }, ...fraction } }
    return receivedStep(sent as SentStep)
  }),
)

function generalProgram(
  keys: readonly string[],
  [at = '', stepsText = '', batchesText = '']: readonly string[],
): Program {
  const batches = batchesOf(keys, stepsIn(stepsText), JSON.parse(batchesText) as number[])
  const reply = (now: Micros, answers: readonly Answer[]): unknown[] => [now, ...answers.flatMap(reportOf)]
  return { at: at === '' ? undefined : Number(at), keys, batches, reply }
}

/** The numbers that the general script replies for one op. */
function reportOf({ taken }: Answer): number[] {
  const { now } = taken
  const allowed = taken.allowed ? 1 : 0
  if ('id' in taken) return [allowed, taken.used, taken.id]
  if ('used' in taken) return [allowed, taken.used, taken.fitsAt - now, taken.freesAt - now, taken.emptyAt - now]
  if ('start' in taken) return [allowed, taken.start - now, taken.current, taken.previous]
  if ('level' in taken) {
    const { first, count, until, level, last } = taken
    return [allowed, first - now, count, until > 0 ? until - now : 0, level, level > 0 ? now - last : 0]
  }
  if ('cold' in taken) {
    const { aheadBefore, earlyBefore, coldBefore, ahead, early, cold } = taken
    return [allowed, aheadBefore, earlyBefore, coldBefore, ahead, early, cold]
  }
  const { base, tat, gross, early } = taken as BucketTaken
  const earlies = early ? [early.base, early.tat] : []
  const last = gross ? [gross.tick - tat, ...(early ? [gross.early] : [])] : []
  return [gross ? 2 : allowed, base - now, tat - base, ...earlies, ...last]
}

function bucketsProgram(keys: readonly string[], given: readonly string[]): Program {
  const first = bucketStepAt(given, 0)
  const ops = keys.map((name, i): readonly Op[] => {
    if (given.length <= 6) return [{ name, step: first }]
    const [index, calls] = [Number(given[7 + 2 * i]), Number(given[8 + 2 * i])]
    const step = index === 1 ? first : bucketStepAt(given, 7 + 2 * keys.length + 6 * (index - 2))
    return Array.from({ length: calls }, () => ({ name, step }))
  })
  const at = given.length > 6 && given[6] !== '' ? Number(given[6]) : undefined
  const reply: Program['reply'] = (now, answers, before) => [
    now,
    ...keys.flatMap((name) =>
      bucketReply(
        now,
        answers.filter((answer) => answer.name === name),
        before(name),
      ),
    ),
  ]
  return { at, keys, batches: ops.flat().map((op) => [op]), reply }
}

const bucketSteps = stepsReader((text) => [bucketStepOf(text.split(' ').map(Number))])

/** The step whose six numbers begin at an argument. */
const bucketStepAt = (given: readonly string[], from: number): BucketStep =>
  bucketSteps(given.slice(from, from + 6).join(' '))[0] as BucketStep

function bucketStepOf([
  increment = 0,
  ahead = 0,
  ceiling = 0,
  scale = 1,
  early = 0,
  aheadEarly = 0,
]: readonly number[]): BucketStep {
  const fraction = scale > 1 ? { scale, increment: early, check: aheadEarly, tolerance: 0, burst: 0, until: 0 } : null
  return { ...UNSENT, kernel: 'bucket', increment, check: -ahead, tolerance: 0, ceiling, maxWaitMicros: 0, fraction }
}

/** The reply for the calls of one key; the whole reply of the general script if its state is more than one number. */
function bucketReply(now: Micros, answers: readonly Answer[], before: State | undefined): unknown[] {
  const [{ step, taken }] = answers as readonly [Answer]
  const { ceiling, fraction } = step as BucketStep
  if (!isPlain(before, now + ceiling)) return [[now, ...answers.flatMap(reportOf)]]
  const { base, early } = taken as BucketTaken
  const allowed = answers.filter((answer) => answer.taken.allowed).length
  const head = allowed === answers.length ? [base - now] : [now - base - 1, allowed]
  return fraction === null ? head : [...head, early?.base ?? 0]
}

function isPlain(state: State | undefined, latest: Micros): boolean {
  if (state === undefined) return true
  if (typeof state === 'number') return state <= latest
  if (!('scale' in state) || !('turn' in state)) return false
  const { tat, gross, turn, early, grossEarly } = state
  return gross === Math.abs(tat) && turn === 0 && early === grossEarly && tat <= latest
}

import type { BucketStep, BucketTaken, Micros, Step } from '@spillway/core'
import { exactly, WHOLE } from '@spillway/core/internal'
import { type Call, type Exchange, Reply, type Results } from '../call.ts'
import { bucketLua } from '../lua/bucket.ts'
import { definitionsLua } from '../lua/take.ts'
import { takeBucketsLua } from '../lua/take-buckets.ts'
import { type Script, scriptOf } from '../script.ts'
import type { GeneralReader } from './algorithm.ts'

const makeScript = (): Script => scriptOf(takeBucketsLua(definitionsLua([bucketLua])))

/** The script for calls of one plain bucket each. */
export const bucketsScript: Script = /* @__PURE__ */ makeScript()

/** A key, and its calls of one step by their places in the batch. */
interface Bucket {
  readonly name: string
  readonly step: BucketStep
  readonly places: number[]
}

/** Reports whether the script for plain buckets can take a step: one of a bucket that refills continuously. */
const isPlain = (step: Step): step is BucketStep =>
  step.kernel === 'bucket' && step.increment > 0 && step.schedule === null && step.start === null && !step.peek

/** Encodes calls of plain buckets for their script; undefined if they need the general one. */
export function encodePlain(calls: readonly Call[], general: GeneralReader): Exchange | undefined {
  const [{ ops, names, at }] = calls as readonly [Call]
  if (calls.length > 1 || at !== undefined) {
    const buckets = bucketsOf(calls)
    return (
      buckets &&
      new PlainBuckets(
        buckets.map(({ name }) => name),
        argumentsOf(buckets, at),
        calls,
        general,
        buckets,
      )
    )
  }
  const step = ops[0]?.step
  return ops.length > 1 || step === undefined || !isPlain(step)
    ? undefined
    : new PlainBuckets(names, textOf(step), calls, general)
}

/** Groups calls of plain buckets by key; undefined if one of them is of another step. */
function bucketsOf(calls: readonly Call[]): readonly Bucket[] | undefined {
  const known = new Map<string, Bucket>()
  for (const [i, { ops, names }] of calls.entries()) {
    const [name, step] = [names[0] as string, ops[0]?.step]
    if (ops.length > 1 || step === undefined || !isPlain(step)) return undefined
    const bucket = known.get(name)
    // The steps of a key must run in the order of the calls.
    if (bucket !== undefined && bucket.step !== step) return undefined
    if (bucket === undefined) known.set(name, { name, step, places: [i] })
    else bucket.places.push(i)
  }
  return [...known.values()]
}

// A policy has one object for its usual step, so that its text is cached.
const texts = new WeakMap<BucketStep, string[]>()

/** The numbers of a step that the script reads: six, of which the last three may be left out if they are `WHOLE_PARTS`. */
function textOf(step: BucketStep): string[] {
  let text = texts.get(step)
  if (text === undefined) {
    const { scale, ...parts } = step.fraction ?? WHOLE
    const { tick, early } = exactly(step.check - step.tolerance, parts.check - parts.tolerance, scale)
    const ticks = [step.increment, step.maxWaitMicros - tick, step.ceiling].map(String)
    text = step.fraction === null ? ticks : [...ticks, ...[scale, parts.increment, early].map(String)]
    texts.set(step, text)
  }
  return text
}

const WHOLE_PARTS: readonly string[] = ['1', '0', '0']

const sixOf = (step: BucketStep): readonly string[] =>
  step.fraction === null ? [...textOf(step), ...WHOLE_PARTS] : textOf(step)

/** The arguments of the script: one step if each key has one call of it, and no time is given. */
function argumentsOf(buckets: readonly Bucket[], at: Micros | undefined): string[] {
  const [{ step: first }] = buckets as readonly [Bucket]
  if (at === undefined && buckets.every(({ step, places }) => step === first && places.length === 1)) {
    return textOf(first)
  }
  const steps: BucketStep[] = []
  const callCounts: string[] = []
  for (const { step, places } of buckets) {
    let index = steps.indexOf(step) + 1
    if (index === 0) index = steps.push(step)
    callCounts.push(`${index}`, `${places.length}`)
  }
  const rest = steps.slice(1).flatMap(sixOf)
  return [...sixOf(first), at === undefined ? '' : `${at}`, ...callCounts, ...rest]
}

/** Calls of plain buckets. A lone call, the most common batch, has no list of buckets. */
class PlainBuckets implements Exchange {
  readonly script = bucketsScript
  readonly keys: string[]
  readonly arguments: string[]
  readonly #calls: readonly Call[]
  readonly #buckets: readonly Bucket[] | undefined
  readonly #general: GeneralReader

  constructor(
    keys: string[],
    words: string[],
    calls: readonly Call[],
    general: GeneralReader,
    buckets?: readonly Bucket[],
  ) {
    this.keys = keys
    this.arguments = words
    this.#calls = calls
    this.#buckets = buckets
    this.#general = general
  }

  read(values: readonly unknown[]): Results {
    const step = this.#calls[0]?.ops[0]?.step as BucketStep
    if (this.#buckets === undefined && step.fraction === null && !Array.isArray(values[1])) {
      return [[takenOnce(step.increment, Number(values[0]), Number(values[1]))]]
    }
    const reply = new Reply(values)
    const now = reply.number()
    if (this.#buckets === undefined) return this.#read(this.#calls, now, reply)
    const results: Results[number][] = []
    for (const { places } of this.#buckets) {
      const taken = this.#read(
        places.map((i) => this.#calls[i] as Call),
        now,
        reply,
      )
      for (const [i, place] of places.entries()) results[place] = taken[i] as Results[number]
    }
    return results
  }

  /** The results of the calls of one bucket. */
  #read(calls: readonly Call[], now: Micros, reply: Reply): Results {
    const answer = reply.value()
    if (Array.isArray(answer)) return this.#general.read(calls, answer)
    return takenOf(calls[0]?.ops[0]?.step as BucketStep, calls.length, now, Number(answer), reply)
  }
}

/** The result of a bucket's only call, in whole microseconds: most calls are such. */
function takenOnce(increment: Micros, now: Micros, ahead: number): BucketTaken {
  const allowed = ahead >= 0
  const base = now + (allowed ? ahead : -1 - ahead)
  return { allowed, now, base, tat: allowed ? base + increment : base }
}

/**
 * The results of a bucket's calls. `ahead` is how far ahead of now it was full before, or −1 − that if some are denied; then the
 * reply has the number of calls that are allowed.
 */
function takenOf(step: BucketStep, calls: number, now: Micros, ahead: number, reply: Reply): [BucketTaken][] {
  const { scale, increment } = step.fraction ?? WHOLE
  const allowedCalls = ahead < 0 ? reply.number() : calls
  let tick = now + (ahead < 0 ? -1 - ahead : ahead)
  let early = scale > 1 ? reply.number() : 0
  const taken: [BucketTaken][] = []
  // Numbers instead of objects: this runs for each call.
  for (let i = 0; i < calls; i++) {
    const allowed = i < allowedCalls
    const base = tick
    const baseEarly = early
    if (allowed) {
      tick += step.increment
      early += increment
      if (early >= scale) {
        tick--
        early -= scale
      }
    }
    taken.push([
      step.fraction === null
        ? { allowed, now, base, tat: tick }
        : { allowed, now, base, tat: tick, early: { scale, base: baseEarly, tat: early } },
    ])
  }
  return taken
}

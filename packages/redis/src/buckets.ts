import type { BucketStep, BucketTaken, Micros, Step, Taken } from '@spillway/core'
import { exactly, WHOLE } from '@spillway/core/internal'
import { bucketsScript } from './script.ts'
import { type Call, decode, type EvalRequest } from './wire.ts'

/** A key, and its calls of one step by their places in the batch. */
interface Bucket {
  readonly name: string
  readonly step: BucketStep
  readonly places: number[]
}

/** Reports whether the script for plain buckets can take a step: one of a bucket that refills continuously. */
const isPlain = (step: Step): step is BucketStep =>
  step.kernel === 'bucket' && step.increment > 0 && step.schedule === null && step.start === null && !step.peek

/** Groups calls of plain buckets by key; undefined if the calls need the general script. */
export function bucketsOf(calls: readonly Call[]): readonly Bucket[] | undefined {
  const known = new Map<string, Bucket>()
  const buckets: Bucket[] = []
  for (const [i, { ops, names }] of calls.entries()) {
    const [name, step] = [names[0] as string, ops[0]?.step]
    if (ops.length > 1 || step === undefined || !isPlain(step)) return undefined
    const bucket = known.get(name)
    // The steps of a key must run in the order of the calls.
    if (bucket !== undefined && bucket.step !== step) return undefined
    if (bucket === undefined) {
      const added = { name, step, places: [i] }
      if (calls.length > 1) known.set(name, added)
      buckets.push(added)
    } else bucket.places.push(i)
  }
  return buckets
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

/** Encodes the calls of buckets for their script. */
export function encodeBuckets(buckets: readonly Bucket[], at: Micros | undefined): EvalRequest {
  const keys = buckets.map(({ name }) => name)
  const [{ step: first }] = buckets as readonly [Bucket]
  if (at === undefined && buckets.every(({ step, places }) => step === first && places.length === 1)) {
    return { script: bucketsScript, keys, arguments: textOf(first) }
  }
  const steps: BucketStep[] = []
  const callCounts: string[] = []
  for (const { step, places } of buckets) {
    let index = steps.indexOf(step) + 1
    if (index === 0) index = steps.push(step)
    callCounts.push(`${index}`, `${places.length}`)
  }
  const rest = steps.slice(1).flatMap(sixOf)
  return {
    script: bucketsScript,
    keys,
    arguments: [...sixOf(first), at === undefined ? '' : `${at}`, ...callCounts, ...rest],
  }
}

/** Decodes the reply of the script: the results of each call, in order. */
export function decodeBuckets(
  buckets: readonly Bucket[],
  calls: readonly Call[],
  reply: readonly unknown[],
): readonly (readonly Taken[])[] {
  let place = 0
  const next = (): unknown => reply[place++]
  const now = Number(next())
  const results: (readonly Taken[])[] = new Array(calls.length)
  for (const bucket of buckets) {
    const answer = next()
    const taken = Array.isArray(answer)
      ? decode(
          bucket.places.map((i) => calls[i] as Call),
          answer,
        )
      : takenOf(bucket, now, Number(answer), next)
    for (const [i, call] of bucket.places.entries()) results[call] = taken[i] as readonly Taken[]
  }
  return results
}

/** The results of a bucket's calls. `ahead` is how far ahead of now it was full before, or −1 − that if some are denied. */
function takenOf({ step, places }: Bucket, now: Micros, ahead: number, next: () => unknown): BucketTaken[][] {
  const { scale, increment } = step.fraction ?? WHOLE
  const allowedCalls = ahead < 0 ? Number(next()) : places.length
  let tick = now + (ahead < 0 ? -1 - ahead : ahead)
  let early = scale > 1 ? Number(next()) : 0
  // Numbers instead of objects: this runs for each call.
  return places.map((_, i) => {
    const allowed = i < allowedCalls
    const [base, baseEarly] = [tick, early]
    if (allowed) {
      tick += step.increment
      early += increment
      if (early >= scale) {
        tick--
        early -= scale
      }
    }
    if (step.fraction === null) return [{ allowed, now, base, tat: tick }]
    return [{ allowed, now, base, tat: tick, early: { scale, base: baseEarly, tat: early } }]
  })
}

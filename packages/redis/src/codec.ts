import type { Micros, SentStep, Step, Take, Taken } from '@spillway/core'
import { type Fraction, sentStep } from '@spillway/core/internal'
import type { Algorithm, KernelName } from './algorithms/algorithm.ts'
import { type Call, type Exchange, Reply, type Results } from './call.ts'
import { definitionsLua, takeLua } from './lua/take.ts'
import { type Script, scriptOf } from './script.ts'

/** Encodes calls for the scripts of some algorithms, and reads what they reply. */
export class Codec {
  readonly #algorithms: ReadonlyMap<KernelName, Algorithm>
  readonly #fast: Algorithm | undefined
  readonly #missing: ((kernel: KernelName) => never) | undefined
  readonly #scripts = new Map<string, Script>()

  /** `missing` throws for a kernel whose algorithm is not there. */
  constructor(algorithms: readonly Algorithm[], missing?: (kernel: KernelName) => never) {
    this.#algorithms = new Map(algorithms.map((each) => [each.kernel, each]))
    this.#missing = missing
    this.#fast = algorithms.find(({ encode }) => encode !== undefined)
  }

  algorithmOf(kernel: KernelName): Algorithm {
    return this.#algorithms.get(kernel) ?? (this.#missing?.(kernel) as never)
  }

  encode(calls: readonly Call[]): Exchange {
    return this.#fast?.encode?.(calls, this) ?? new GeneralExchange(calls, this)
  }

  /** Reads the reply of the script of all algorithms. */
  read(calls: readonly Call[], values: readonly unknown[]): Results {
    const reply = new Reply(values)
    const now = reply.number()
    return calls.map(({ ops }) => ops.map(({ step }) => this.#takenOf(step, now, reply)))
  }

  #takenOf(step: Step, now: Micros, reply: Reply): Taken {
    return this.algorithmOf(step.kernel).read(reply.number(), now, step as never, reply)
  }

  /** The script for these steps. Each call runs all definitions again, so it defines only the kernels that they need. */
  scriptFor(steps: Iterable<Pick<Step, 'kernel'>>): Script {
    const needed = new Set<Algorithm>()
    for (const { kernel } of steps) needed.add(this.algorithmOf(kernel))
    const used = [...this.#algorithms.values()].filter((each) => needed.has(each))
    const names = used.map(({ kernel }) => kernel).join()
    const script = this.#scripts.get(names) ?? scriptOf(definitionsLua(used.map(({ lua }) => lua)) + takeLua)
    this.#scripts.set(names, script)
    return script
  }
}

/** Calls for the script of all algorithms. Each key and each step is sent once, even if many calls share it. */
class GeneralExchange implements Exchange {
  readonly script: Script
  readonly keys: string[]
  readonly arguments: string[]
  readonly #calls: readonly Call[]
  readonly #codec: Codec

  constructor(calls: readonly Call[], codec: Codec) {
    const keys = new Map<string, number>()
    const steps = new Map<SentStep, number>()
    const batches: number[] = []
    const at = calls[0]?.at
    for (const { ops, names } of calls) {
      batches.push(ops.length)
      for (let i = 0; i < ops.length; i++) {
        batches.push(indexIn(keys, names[i] as string), indexIn(steps, sentStep((ops[i] as Take).step, at)))
      }
    }
    this.script = codec.scriptFor(steps.keys())
    this.keys = [...keys.keys()]
    this.arguments = [at === undefined ? '' : `${at}`, `[${[...steps.keys()].map(textOf)}]`, `[${batches}]`]
    this.#calls = calls
    this.#codec = codec
  }

  read(reply: readonly unknown[]): Results {
    return this.#codec.read(this.#calls, reply)
  }
}

/** Returns the index of an item in a list without duplicates, and appends the item if needed. Lua counts from 1. */
function indexIn<T>(places: Map<T, number>, it: T): number {
  let place = places.get(it)
  if (place === undefined) {
    place = places.size + 1
    places.set(it, place)
  }
  return place
}

// A policy has one object for its usual step, so that its text is cached.
const texts = new WeakMap<SentStep, string>()

/** Omits null and false: Lua reads a missing field as nil, which is falsy, too. */
const omitDefaults = (_: string, value: unknown): unknown => (value === null || value === false ? undefined : value)

/** A bucket's step without the fields that only refunds need. */
function neededOf(step: SentStep): Partial<SentStep> {
  if (step.kernel !== 'bucket' || step.increment < 0) return step
  const { until, ends, whole, burst, fraction, ...needed } = step
  if (fraction === null) return needed
  const { until: _, burst: __, ...parts } = fraction
  return { ...needed, fraction: parts as Fraction }
}

function textOf(step: SentStep): string {
  let text = texts.get(step)
  if (text === undefined) {
    text = JSON.stringify(neededOf(step), omitDefaults)
    texts.set(step, text)
  }
  return text
}

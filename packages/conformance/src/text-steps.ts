type Call = (this: unknown, ...args: unknown[]) => unknown
/** How many characters a call visits. */
type Visits = (self: string, args: readonly unknown[], result: unknown) => number

const { exec } = RegExp.prototype
const { indexOf } = String.prototype
// What counts is not counted.
const toNumber = Number

const whole: Visits = ({ length }) => length
const argument: Visits = (_, [text]) => String(text).length
/** Regular expressions are counted where they are executed. */
const unlessPattern: Visits = ({ length }, [search]) => (search instanceof RegExp ? 0 : length)
const trimmed: Visits = ({ length }, _, result) => length - String(result).length
const forward: Visits = (self, [search, from]) => {
  const start = Math.min(toNumber(from ?? 0), self.length)
  const found = indexOf.call(self, String(search), start)
  return (found < 0 ? self.length : found + String(search).length) - start
}
const backward: Visits = ({ length }, [, from], found) =>
  Math.min(toNumber(from ?? length), length) - Math.max(toNumber(found), 0)

/** Each call visits one character. */
const CHARACTERS = ['at', 'charAt', 'charCodeAt', 'codePointAt']

/** A comparison ends at the first character that differs. */
const compared = (self: string, text: string, from: number): number => {
  let at = 0
  while (at < text.length && text[at] === self[from + at]) at++
  return Math.min(at + 1, text.length)
}

const STRING: Readonly<Record<string, Visits>> = {
  concat: whole,
  endsWith: (self, [text]) => compared(self, String(text), self.length - String(text).length),
  includes: forward,
  indexOf: forward,
  lastIndexOf: backward,
  replace: unlessPattern,
  replaceAll: unlessPattern,
  split: unlessPattern,
  startsWith: (self, [text, from]) => compared(self, String(text), Number(from ?? 0)),
  toLowerCase: whole,
  toUpperCase: whole,
  trim: trimmed,
  trimEnd: trimmed,
  trimStart: trimmed,
}

const FUNCTIONS = ['decodeURI', 'decodeURIComponent', 'encodeURI', 'encodeURIComponent', 'parseFloat', 'parseInt']
/** Each call of these visits all parameters, and of a loop over them, one. */
const PARAMETERS = ['get', 'getAll', 'has']

/** The object or its prototype that has a method: runtimes differ. Throws if none does, as nothing would be counted. */
function holderOf(on: object, name: string): object {
  for (let each: object | null = on; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    if (typeof Object.getOwnPropertyDescriptor(each, name)?.value === 'function') return each
  }
  throw new Error(`this runtime has no ${name} whose calls can be counted`)
}

/** Counts the characters that code visits, until it is restored. */
export interface TextSteps {
  /** The count until now. */
  readonly count: () => number
  readonly restore: () => void
}

/**
 * Counts the characters that code visits by calls of the language. It counts what is called, not what engines make of it, so
 * that it is the same on every machine. A `slice` visits nothing, and code that is to be counted reads single characters by
 * methods.
 */
export function countTextSteps(): TextSteps {
  let steps = 0
  const undo: (() => void)[] = []
  const patch = (on: object, name: string, make: (original: Call) => unknown): void => {
    const holder = holderOf(on, name)
    const descriptor = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor
    Object.defineProperty(holder, name, { ...descriptor, value: make(descriptor.value as Call) })
    undo.push(() => Object.defineProperty(holder, name, descriptor))
  }
  const counting =
    (visits: Visits) =>
    (original: Call): Call =>
      function (...args) {
        const result = Reflect.apply(original, this, args)
        steps += visits(this as string, args, result)
        return result
      }
  // Most calls are of these: a list of their arguments for each would take most of the time of a test.
  const countingOne = (original: Call): Call =>
    function (index) {
      steps++
      return original.call(this, index)
    }
  for (const name of CHARACTERS) patch(String.prototype, name, countingOne)
  for (const [name, visits] of Object.entries(STRING)) patch(String.prototype, name, counting(visits))
  for (const name of FUNCTIONS) patch(globalThis, name, counting(argument))
  patch(URL, 'canParse', counting(argument))
  for (const name of ['parseFloat', 'parseInt']) patch(Number, name, counting(argument))
  for (const name of PARAMETERS) {
    patch(
      URLSearchParams.prototype,
      name,
      counting((self) => Object(self).size),
    )
  }
  patch(
    Array.prototype,
    'join',
    counting((_, __, result) => String(result).length),
  )
  patch(
    RegExp.prototype,
    'exec',
    () =>
      function (this: RegExp, text: string) {
        const start = this.global || this.sticky ? this.lastIndex : 0
        const found = exec.call(this, text)
        const end = found === null ? (this.sticky ? start + 1 : String(text).length) : found.index + found[0].length
        steps += Math.max(end - start, 1)
        return found
      },
  )
  const constructed = (original: Call): Call =>
    new Proxy(original, {
      apply: (target, self, args) => {
        steps += String(args[0]).length
        return Reflect.apply(target, self, args)
      },
      construct: (target, args, made) => {
        steps += String(args[0] ?? '').length
        return Reflect.construct(target, args, made) as object
      },
    })
  for (const name of ['Number', 'URL', 'URLSearchParams']) patch(globalThis, name, constructed)
  return {
    count: () => steps,
    restore: () => {
      for (const each of undo.reverse()) each()
    },
  }
}

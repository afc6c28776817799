import { binaryOperation, builtins } from './operations.ts'
import type { Path } from './path.ts'
import { constant, type Value } from './values.ts'

type Run = (path: Path, args: readonly Value[]) => Value

const LIBRARY: Readonly<Record<string, Run>> = {
  fmod: (path, [a, b]) => binaryOperation(path, '%', a as Value, b as Value),
  type: (_, [value]) => constant(value?.kind === 'object' ? 'table' : value?.kind === 'const' ? 'nil' : value?.kind),
}

/** A function of Lua's own that kernels use. */
export function libraryOf(name: string): Run {
  const builtin = builtins[`Math.${name}`]
  const run = LIBRARY[name] ?? (builtin?.kind === 'call' ? builtin.run : undefined)
  if (run === undefined) throw new ReferenceError(`a kernel has no ${name}`)
  return run
}

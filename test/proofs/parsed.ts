import { type Program, parse as parseProgram } from 'acorn'
import { type Chunk, parse as parseScript } from 'luaparse'
import { parsedSql } from './sql-syntax.ts'

/** A parser that keeps its results: each path runs the program again. */
function once<T>(parse: (source: string) => T): (source: string) => T {
  const known = new Map<string, T>()
  return (source) => {
    const found = known.get(source) ?? parse(source)
    known.set(source, found)
    return found
  }
}

export const parsedProgram: (source: string) => Program = once((source) =>
  parseProgram(source, { ecmaVersion: 'latest', sourceType: 'module' }),
)

export const parsedScript: (source: string) => Chunk = once((source) =>
  parseScript(source, { luaVersion: '5.1', encodingMode: 'x-user-defined', ranges: true }),
)

export const parsedFunctions: (source: string) => ReturnType<typeof parsedSql> = once(parsedSql)

import { type Node, parse } from 'acorn'
import { ancestor } from 'acorn-walk'

/** What a place in the code does whenever it runs: enters a function, makes one, or makes an object or array. */
export type Kind = 'call' | 'closure' | 'object'

/** A place in the code of the packages that is counted. */
export interface Site {
  readonly kind: Kind
  readonly file: string
  /** The beginning of its code, without types. */
  readonly code: string
}

type Insertion = readonly [at: number, text: string]
type FunctionNode = Node & { readonly body: Node; readonly params: readonly Node[]; readonly expression: boolean }

/** How much of a place's code is reported. */
const SHOWN = 60

/** The array that instrumented code counts in, by the index of a site. */
export const COUNTS = '__counts'

/**
 * Makes code of a module count: each call of its functions, each evaluation of a function, and each of an object, a list, a
 * `new`, or the list of rest parameters.
 */
export function instrument(code: string, file: string, sites: Site[]): string {
  const insertions: Insertion[] = []
  const increment = (kind: Kind, { start, end }: Node): string => {
    const shown = code.slice(start, Math.min(end, start + SHOWN)).replaceAll(/\s+/g, ' ')
    const index = sites.push({ kind, file, code: shown }) - 1
    return `${COUNTS}[${index}]++`
  }
  const wrap = (node: Node, what: string): void => {
    insertions.push([node.start, `(${what}, `], [node.end, ')'])
  }
  const enter = (node: FunctionNode): void => {
    const counted = [increment('call', node)]
    if (node.params.some(({ type }) => type === 'RestElement')) counted.push(increment('object', node))
    if (node.expression) wrap(node.body, counted.join(', '))
    else insertions.push([node.body.start + 1, `${counted.join('; ')}; `])
  }
  const make = (node: Node, _state: unknown, ancestors: Node[]): void => {
    enter(node as FunctionNode)
    // A method is made with its object or class.
    const isMethod = isMethodOf(ancestors.at(-2) as Node, node)
    if (!isMethod) wrap(node, increment('closure', node))
  }
  const makeObject = (node: Node): void => wrap(node, increment('object', node))
  ancestor(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), {
    FunctionExpression: make,
    ArrowFunctionExpression: make,
    FunctionDeclaration(node, _state, ancestors) {
      enter(node as unknown as FunctionNode)
      const block = ancestors.at(-2) as Node
      if (block.type === 'BlockStatement') insertions.push([block.start + 1, `${increment('closure', node)}; `])
    },
    ObjectExpression(node) {
      makeObject(node)
      for (const property of node.properties) {
        if (property.type === 'Property' && isMethodOf(property, property.value))
          insertions.push([node.start, `(${increment('closure', property)}, `], [node.end, ')'])
      }
    },
    ArrayExpression: makeObject,
    NewExpression: makeObject,
  })
  return inserted(code, insertions)
}

const isMethodOf = (parent: Node, node: Node): boolean => {
  const { type, value, method, kind } = parent as Node & { value?: Node; method?: boolean; kind?: string }
  return value === node && (type === 'MethodDefinition' || (type === 'Property' && (method || kind !== 'init')))
}

/** At one place, what ends there comes before what begins there. */
function inserted(code: string, insertions: readonly Insertion[]): string {
  let [text, from] = ['', 0]
  const rank = (what: string): number => (what === ')' ? 0 : what.endsWith('; ') ? 1 : 2)
  for (const [at, what] of insertions.toSorted((a, b) => a[0] - b[0] || rank(a[1]) - rank(b[1]))) {
    text += code.slice(from, at) + what
    from = at
  }
  return text + code.slice(from)
}

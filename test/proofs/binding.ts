import type { Expression, Identifier, Pattern } from 'acorn'
import { field, type Value } from './values.ts'

/** Sets the variables of a pattern to the parts of a value; a part that is missing is evaluated. */
export function bind(
  pattern: Pattern,
  value: Value,
  scope: Map<string, Value>,
  evaluate: (node: Expression) => Value,
): void {
  switch (pattern.type) {
    case 'Identifier':
      scope.set(pattern.name, value)
      return
    case 'AssignmentPattern': {
      const missing = value.kind === 'const' && value.value === undefined
      bind(pattern.left, missing ? evaluate(pattern.right) : value, scope, evaluate)
      return
    }
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        if (property.type !== 'Property') throw new TypeError('a kernel has no rest of an object')
        bind(property.value, field(value, (property.key as Identifier).name), scope, evaluate)
      }
      return
    case 'ArrayPattern':
      pattern.elements.forEach((element, i) => {
        if (element) bind(element, field(value, String(i)), scope, evaluate)
      })
      return
    default:
      throw new TypeError(`a kernel has no ${pattern.type}`)
  }
}

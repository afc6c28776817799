import { type DocumentNode, type FieldNode, Kind, type SelectionNode, type SelectionSetNode } from 'graphql'

/**
 * The largest number of fields that a valid document can return. Each field counts once, multiplied by the lengths of the
 * lists around it, which their argument `first` sets.
 */
export function complexityOf(document: DocumentNode, given: Readonly<Record<string, unknown>> = {}): number {
  const variables = { ...defaultsOf(document), ...given }
  const fragments = new Map<string, SelectionSetNode>()
  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each.selectionSet)
  }
  // Fragments that use each other twice would double the work at every level: count each fragment once.
  const known = new Map<SelectionSetNode, number>()
  const count = (set: SelectionSetNode | undefined): number => {
    if (set === undefined) return 0
    const units = known.get(set) ?? set.selections.reduce((sum, each) => sum + countOne(each), 0)
    known.set(set, units)
    return units
  }
  const countOne = (each: SelectionNode): number => {
    if (each.kind === Kind.FIELD) return 1 + lengthOf(each, variables) * count(each.selectionSet)
    return count(each.kind === Kind.INLINE_FRAGMENT ? each.selectionSet : fragments.get(each.name.value))
  }
  // Add up all operations: it does not matter which one is executed.
  return document.definitions.reduce(
    (units, each) => units + (each.kind === Kind.OPERATION_DEFINITION ? count(each.selectionSet) : 0),
    0,
  )
}

/** The default values of variables. */
function defaultsOf({ definitions }: DocumentNode): Record<string, unknown> {
  const operations = definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION)
  const variables = operations.flatMap(({ variableDefinitions = [] }) => variableDefinitions)
  const numbers = variables.map(({ variable, defaultValue }): [string, number] => [
    variable.name.value,
    defaultValue?.kind === Kind.INT ? Number(defaultValue.value) : 1,
  ])
  // Sort the largest last: it wins if several operations have a variable of the same name.
  return Object.fromEntries(numbers.sort(([, a], [, b]) => a - b))
}

/** The length of the list that a field returns: its argument `first`, or 1. */
function lengthOf({ arguments: given = [] }: FieldNode, variables: Readonly<Record<string, unknown>>): number {
  const first = given.find((each) => each.name.value === 'first')?.value
  if (first?.kind === Kind.INT) return Math.max(Number(first.value), 1)
  const said = first?.kind === Kind.VARIABLE ? variables[first.name.value] : 1
  return typeof said === 'number' && said > 1 ? said : 1
}

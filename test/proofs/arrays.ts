import { isSame } from './operations.ts'
import { asNumber, called, number, type Obj, object, UNDEFINED, type Value } from './values.ts'

/** An array of JavaScript: an object with the fields 0, 1, and so on. */
export const arrayOf = (values: readonly Value[]): Obj => object(Object.fromEntries(values.entries()))

export const elementsOf = (array: Value): readonly Value[] => Object.values((array as Obj).fields)

type Method = (elements: readonly Value[], args: readonly Value[]) => Value

/** The methods of arrays that programs use. */
export const arrayMethods: Readonly<Record<string, Method>> = {
  at: (elements, [index]) => elements.at(asNumber(index as Value).known as number) ?? UNDEFINED,
  fill: (elements, [value]) => arrayOf(elements.map(() => value as Value)),
  indexOf: (elements, [value]) => number(elements.findIndex((each) => isSame(each, value as Value).known)),
  map: (elements, [each]) => arrayOf(elements.map((value, i) => called(each as Value, [value, number(i)]))),
}

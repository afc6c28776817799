import { area, areFactors, dividesUp, isWarmer, slowsDown, times, twice } from './slowdown-model.ts'
import { exactOver, type Property } from './solver.ts'
import { atMost, below, difference, equal, type Num, number, sum } from './values.ts'
import { WarmUp } from './warm-up-model.ts'

/** The properties of what units take longer while a key is cold. Only these need products. */
export function slowdownProperties(source: string): Readonly<Record<string, Property>> {
  const over = exactOver((path) => WarmUp.withoutQuotients(source, path))
  const cooled = (key: WarmUp, ...names: readonly string[]): readonly Num[] => {
    const colds = names.map((name) => key.coldness(name))
    colds.slice(1).forEach((cold, i) => key.path.assume(atMost(cold, colds[i] as Num)))
    key.path.assume(atMost(colds[0] as Num, twice(key.half)))
    return colds
  }
  const slowdown = (key: WarmUp, before: Num, after: Num): Num =>
    key.kernel.call('slowdown', before, after, key.half) as Num
  return {
    'a product is divided and rounded up exactly': exactOver((path) => new WarmUp(source, path))((key) => {
      const [x, y] = [key.coldness('x'), key.coldness('y')]
      key.path.assume(areFactors(x, y, key.half))
      return dividesUp(x, y, key.half, key.kernel.call('dividedUp', x, y, key.half) as Num)
    }),
    'units take longer by the area below the interval while a key gets warmer, rounded up': over((key) => {
      const [before, after] = cooled(key, 'before', 'after') as [Num, Num]
      const slower = slowdown(key, before, after)
      return {
        'in the proved range': isWarmer(before, after, key.half),
        'not less': atMost(area(before, after, key.half), times(slower, key.half)),
        'not more': below(times(difference(slower, number(1)), key.half), area(before, after, key.half)),
        ...slowsDown(before, after, key.half, slower),
      }
    }),
    'a cold key is warm after its warm-up period': over((key) => {
      const slower = slowdown(key, key.path.name(twice(key.half)), key.half)
      return { period: equal(sum(key.half, slower), twice(key.half)) }
    }),
    'units take as long together as one after the other, but for a microsecond': over((key) => {
      const [before, between, after] = cooled(key, 'before', 'between', 'after') as [Num, Num, Num]
      const parts = sum(slowdown(key, before, between), slowdown(key, between, after))
      const whole = slowdown(key, before, after)
      return {
        'not faster': atMost(whole, parts),
        'not slower': atMost(parts, sum(whole, number(1))),
        'longer than a part': atMost(slowdown(key, before, between), whole),
      }
    }),
  }
}

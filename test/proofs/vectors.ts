import { isDeepStrictEqual } from 'node:util'
import { START } from '../../packages/conformance/src/clock.ts'
import { bucketOf, fixedOf, partsOf, slidingOf } from '../../packages/conformance/src/vectors/proofs.ts'
import type { Row } from '../../packages/conformance/src/vectors/vector.ts'
import type { Quota } from '../../packages/core/src/index.ts'
import { LATEST } from './bucket-model.ts'
import type { Path } from './path.ts'
import { type Asked, answersOf, programOf } from './replay.ts'
import type { Counterexample } from './solver.ts'
import { atMost, type Bool, both, equal, not, number, numeric } from './values.ts'

type Wanted = (path: Path) => readonly Bool[]

/** What the solver is to find, if it can: small numbers, times that conformance uses, and products that are real. */
const wishes: readonly Wanted[] = [10, 1_000, Number.MAX_SAFE_INTEGER].flatMap((most): readonly Wanted[] => [
  (path) => [...path.visible, ...near(path), ...within(path, most)],
  (path) => [
    ...path.visible,
    ...near(path),
    ...within(path, most),
    ...(path.products ? [path.products.areReal()] : []),
  ],
])

const near = (path: Path): readonly Bool[] =>
  [...path.inputs]
    .filter(([, most]) => most === LATEST)
    .flatMap(([name]) => [atMost(number(START + 1e9), numeric(name)), atMost(numeric(name), number(START + 2e9))])

const within = (path: Path, most: number): readonly Bool[] =>
  [...path.inputs].filter(([, each]) => each !== LATEST).map(([name]) => atMost(numeric(name), number(most)))

/** The source of a quota, and the most units that it counts. */
function quotaOf(values: ReadonlyMap<string, number>): readonly [source: string, quota: Quota, most: number] {
  const of = (name: string): number => values.get(name) ?? 0
  const size = values.get('size')
  if (values.has('scale')) {
    const parts = of('size') * of('scale') - of('size_early')
    return [`partsOf(${of('scale')}, ${parts})`, partsOf(of('scale'), parts), 0]
  }
  if (size !== undefined) {
    const burst = values.get('burst')
    return [`bucketOf(${size}${burst === undefined ? '' : `, ${burst}`})`, bucketOf(size, burst), 0]
  }
  if (values.has('window')) {
    return [`fixedOf(${of('limit')}, ${of('window')})`, fixedOf(of('limit'), of('window')), 3 * 2 ** 50]
  }
  const most = Math.floor((3 * 2 ** 50) / of('ticks'))
  return [`slidingOf(${of('limit')}, ${of('ticks')})`, slidingOf(of('limit'), of('ticks')), most]
}

/** The most units that one call refunds or charges. */
const MOST_UNITS = 2 ** 50

/** The calls of a counterexample, and a few after them that show in which state they left the key. */
function callsOf({ calls, values }: Counterexample, most: number): readonly Asked[] {
  const rows: Asked[] = []
  /** The rows of the calls by their times, and by their places. */
  const [byTime, byPlace] = [new Map<number, number>(), new Map<number, number>()]
  const ask = (at: number, verb: Row[1], cost: number, of?: number): void => {
    for (let left = cost; left > 0; left -= MOST_UNITS) {
      const row = [(at - START) / 1000, verb, Math.min(left, MOST_UNITS)] as const
      rows.push(of === undefined ? row : [...row, of])
    }
  }
  let last = START
  for (const [i, { verb, early, of, since }] of calls.entries()) {
    const read = (what: string): number => values.get(`call${i}_${what}`) ?? 0
    const at = read('at')
    const cost = early ? read('cost') * (values.get('scale') ?? 1) - read('early') : read('cost')
    const original = since ? byTime.get(read('since')) : of && byPlace.get(calls.indexOf(of))
    ask(at, verb, cost, original)
    if (cost > 0) byTime.set(at, rows.length - 1)
    byPlace.set(i, rows.length - 1)
    last = at
  }
  ask(last, 'peek', 1)
  ask(last + 1, 'peek', 1)
  ask(last, 'refund', most)
  if (most > 0) ask(last, 'peek', 1)
  return rows
}

/** How often the solver is asked for each wish: many a counterexample has calls whose answers do not show the difference. */
const TRIES = 4

const unlike = ({ values }: Counterexample, path: Path): Bool =>
  not(
    both(
      ...[...path.inputs.keys()].flatMap((name) => {
        const value = values.get(name)
        return value === undefined ? [] : [equal(numeric(name), number(value))]
      }),
    ),
  )

/** A counterexample as the text of a vector, to which a program and its mutant have different answers. */
export async function vectorText(
  name: string,
  source: string,
  mutant: string,
  find: (wanted: Wanted) => Promise<Counterexample | undefined>,
): Promise<string> {
  const tried: Counterexample[] = []
  for (const wanted of wishes.flatMap((each) => Array.from({ length: TRIES }, () => each))) {
    const found = await find((path) => [...wanted(path), ...tried.map((each) => unlike(each, path))])
    if (found === undefined) continue
    tried.push(found)
    const [quotaText, quota, most] = quotaOf(found.values)
    const calls = callsOf(found, most)
    const rows = answersOf(programOf(source), quota, calls)
    if (isDeepStrictEqual(rows, answersOf(programOf(mutant), quota, calls))) continue
    const lines = rows.map((row) => `[${row.map(textOf).join(', ')}]`)
    return `{ name: '${nameOf(name)}', quota: ${quotaText}, rows: [${lines.join(', ')}] },`
  }
  throw new Error(`no vector shows that a kernel ${name}`)
}

/** The name of the vector that shows what a mutant gets wrong. */
export const nameOf = (mutant: string): string => `unlike a kernel that ${mutant}`

const textOf = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : String(value).replace(/(?<!\..*)\B(?=(\d{3})+(?!\d))/g, '_')

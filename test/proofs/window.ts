import { allowed } from './bucket-model.ts'
import { type Claims, exactOver, type Property } from './solver.ts'
import {
  atMost,
  type Bool,
  below,
  both,
  difference,
  either,
  equal,
  field,
  implies,
  lesser,
  type Num,
  not,
  number,
  same,
  sum,
  UNDEFINED,
  when,
  ZERO,
} from './values.ts'
import { counts, MOST_SHARES, microsAt, Window } from './window-model.ts'

const sameCounts = (a: readonly Num[], b: readonly Num[]): Bool => both(...a.map((each, i) => equal(each, b[i] as Num)))

/** The properties of the window kernel, each over all limits, lengths, costs, states and times; `micros` is a tick. */
export function windowProperties(source: string, micros?: number): Readonly<Record<string, Property>> {
  const over = exactOver((path) => new Window(source, path, micros))
  return {
    'a take is allowed if and only if its units fit beside those in use': over((window) => {
      const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
      const taken = window.consume(state, now, cost)
      return { fits: same(allowed(taken), atMost(sum(window.used(taken, now), cost), window.limit)) }
    }),
    'takes of one window are within the limit': over((window) => {
      const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
      const { current, previous } = state.fields as Record<'current' | 'previous', Num>
      window.path.assume(both(atMost(current, window.limit), atMost(previous, window.limit)))
      const taken = window.consume(state, now, cost)
      const [start, before, faded] = counts(taken, 'base')
      const [after, counted, last] = counts(taken, 'next')
      return {
        'within the limit': implies(allowed(taken), both(atMost(counted, window.limit), atMost(last, window.limit))),
        counted: implies(allowed(taken), both(equal(counted, sum(before, cost)), equal(last, faded))),
        'the window of now': both(
          equal(start, after),
          atMost(start, now),
          below(difference(now, start), window.length),
        ),
      }
    }),
    'counts move on with the windows': over((window) => {
      const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
      const { start, current, previous } = state.fields as Record<'start' | 'current' | 'previous', Num>
      const base = counts(window.consume(state, now, cost), 'base')
      const passed = difference(now, start)
      const [isFirst, isLast] = [below(passed, window.length), atMost(window.span, passed)]
      return {
        'in its window': implies(both(atMost(start, now), isFirst), sameCounts(base, [start, current, previous])),
        'in the next': either(isFirst, isLast, sameCounts(base, [sum(start, window.length), ZERO, current])),
        'after all windows': implies(isLast, sameCounts(base, [now, ZERO, ZERO])),
        'before the window': either(atMost(start, now), sameCounts(base, [now, current, previous])),
      }
    }),
    'a new key has the whole limit': over((window) => {
      const [now, cost] = [window.moment('now'), window.cost('cost')]
      const taken = window.consume(UNDEFINED, now, cost)
      return { allowed: allowed(taken), counted: sameCounts(counts(taken, 'next'), [now, cost, ZERO]) }
    }),
    'a denial and a peek leave the state, unless the clock has stepped back': over((window) => {
      const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
      const { start, current, previous } = state.fields as Record<'start' | 'current' | 'previous', Num>
      const found = window.consume(state, now, cost)
      const [began, units, before] = counts(found, 'kept')
      window.path.visible.push(not(allowed(found)))
      return { counts: both(equal(units, current), equal(before, previous)), start: equal(began, lesser(start, now)) }
    }),
    'a refund returns its units to the window that counts them, and to no other': over((window) => {
      const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
      const original = window.moment('original')
      const step = window.step('refund', cost, original)
      const refunded = window.run(state, now, step)
      const [start, current, previous] = counts(refunded, 'base')
      const returned = (of: Num, since: Num) => when(equal(since, original), lesser(cost, of))
      const left = difference(current, returned(current, start))
      const before = difference(previous, returned(previous, difference(start, window.length)))
      return {
        allowed: allowed(refunded),
        exactly: sameCounts(counts(refunded, 'next'), [start, left, before]),
      }
    }),
    'a refund of an unknown take returns at most its units': over((window) => {
      const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
      const refunded = window.run(state, now, window.step('refund', cost))
      const [start, current, previous] = counts(refunded, 'base')
      const [began, left, before] = counts(refunded, 'next')
      const returned = sum(difference(current, left), difference(previous, before))
      return {
        'at most its units': equal(returned, lesser(cost, sum(current, previous))),
        'no more than counted': both(
          atMost(ZERO, left),
          atMost(left, current),
          atMost(ZERO, before),
          atMost(before, previous),
        ),
        'the same window': equal(start, began),
      }
    }),
    'a charge is counted beyond the limit, up to the most that is exact': over((window) => {
      const [state, now] = [window.state(), window.moment('now')]
      const cost = window.path.input('cost', 1, 2 ** 50)
      const step = window.step('charge', cost)
      const charged = window.run(state, now, step)
      const [, current] = counts(charged, 'base')
      const [, counted] = counts(charged, 'next')
      return {
        allowed: allowed(charged),
        counted: equal(counted, lesser(sum(current, cost), window.most)),
      }
    }),
    'units of the window before fade at the first tick at which they may': over((window) => {
      const [count, room] = [window.count('count'), window.path.input('room', 0, MOST_SHARES)]
      window.path.assume(atMost(room, window.limit))
      window.faded(count, difference(window.limit, sum(room, number(1))))
      return window.fades(count, room, window.fadedAfter(count, room))
    }),
  }
}

const WAIT = 'a denied request is allowed at the time that it is given, and not a microsecond before'

/** The property of the waits of a sliding window. Numbers stay exact in what is proved of the window and of its fading. */
export const slidingWaitProperties = (source: string, micros: number): Readonly<Record<string, Property>> => ({
  [WAIT]: (path) => waitClaims(Window.withoutProducts(source, path, micros)),
})

/** The properties of the waits of a fixed window, and of its clock. */
export function fixedWaitProperties(source: string): Readonly<Record<string, Property>> {
  return {
    [WAIT]: exactOver((path) => new Window(source, path))(waitClaims),
    'a clock that steps back adds no units': (path) => {
      const window = new Window(source, path)
      const [state, now, earlier] = [window.state(), window.moment('now'), window.moment('earlier')]
      window.path.assume(atMost(earlier, now))
      const cost = window.cost('cost')
      const at = window.consume(state, now, cost)
      const back = window.consume(field(at, 'kept'), earlier, cost)
      return { 'no units': atMost(window.used(at, now), window.used(back, earlier)) }
    },
  }
}

/** That a request which is denied now is allowed when its wait is over, and not before. */
function waitClaims(window: Window): Claims {
  const { path } = window
  const [state, now, cost] = [window.state(), window.moment('now'), window.cost('cost')]
  const denied = window.consume(state, now, cost)
  path.assume(not(allowed(denied)))
  const retry = microsAt(window.denial(denied, now, cost), 'retryAfterMs')
  const at = path.name(sum(now, retry))
  const kept = field(denied, 'kept')
  const before = window.consume(kept, path.name(difference(at, number(1))), cost)
  const then = window.consume(kept, at, cost)
  return {
    later: below(ZERO, retry),
    'within the windows that count': atMost(retry, window.span),
    allowed: allowed(then),
    'not before': not(allowed(before)),
  }
}

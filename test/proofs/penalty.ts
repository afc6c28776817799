import { allowed, LATEST } from './bucket-model.ts'
import { isState, MOST_UNITS, numbersOf, Penalty, type PenaltyNumbers } from './penalty-model.ts'
import { exactOver, type Property } from './solver.ts'
import {
  atMost,
  type Bool,
  below,
  both,
  difference,
  either,
  equal,
  field,
  greater,
  implies,
  lesser,
  type Num,
  not,
  number,
  object,
  same,
  sum,
  UNDEFINED,
  when,
  ZERO,
} from './values.ts'
import { microsAt } from './window-model.ts'

const sameNumbers = (a: PenaltyNumbers, b: PenaltyNumbers, names: readonly (keyof PenaltyNumbers)[] = ALL): Bool =>
  both(...names.map((name) => equal(a[name], b[name])))
const ALL = ['writtenAt', 'first', 'count', 'until', 'level', 'last'] as const

/** The properties of the penalty kernel, each over all limits, lengths, costs, states and times. */
export function penaltyProperties(source: string, extend: boolean): Readonly<Record<string, Property>> {
  const over = exactOver((path) => new Penalty(source, path, extend))
  const common = {
    'a request is allowed if and only if its key is not blocked, and its units fit those of the window': over(
      (penalty) => {
        const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
        penalty.path.assume(atMost(state.writtenAt, now))
        const taken = penalty.run(object(state), now, penalty.step('consume', cost))
        const { first, count, until } = state
        const [blocked, inWindow] = [below(now, until), below(difference(now, first), penalty.window)]
        const used = when(both(equal(until, ZERO), inWindow), count)
        const next = numbersOf(taken, 'next')
        return {
          fits: same(allowed(taken), both(not(blocked), atMost(sum(used, cost), penalty.limit))),
          counted: implies(allowed(taken), equal(next.count, sum(used, cost))),
          'within the limit': implies(allowed(taken), atMost(next.count, penalty.limit)),
          'in its window': implies(both(inWindow, equal(until, ZERO), below(ZERO, count)), equal(next.first, first)),
        }
      },
    ),
    'the units that reach the limit block the key at once, for the length of a block': over((penalty) => {
      const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
      const taken = penalty.run(object(state), now, penalty.step('consume', cost))
      const { count, until } = numbersOf(taken, 'next')
      const reached = atMost(penalty.limit, count)
      const length = difference(until, now)
      const block = both(atMost(penalty.block, length), atMost(length, penalty.max))
      penalty.path.assume(allowed(taken))
      return { blocked: implies(reached, block), 'not before': either(reached, equal(until, ZERO)) }
    }),
    'a state stays one': over((penalty) => {
      const [state, now] = [penalty.state(), penalty.moment('now')]
      const units = penalty.path.input('units', 1, MOST_UNITS)
      const outcomes = (['consume', 'charge', 'refund'] as const).map((verb) =>
        penalty.run(object(state), now, penalty.step(verb, units)),
      )
      return Object.fromEntries(
        outcomes.map((outcome, i) => [
          `outcome ${i}`,
          both(isState(numbersOf(outcome, 'taken'), penalty.limit), isState(numbersOf(outcome, 'kept'), penalty.limit)),
        ]),
      )
    }),
    'a new key has the whole limit': over((penalty) => {
      const [now, cost] = [penalty.moment('now'), penalty.cost()]
      const taken = penalty.run(UNDEFINED, now, penalty.step('consume', cost))
      const { first, count, level } = numbersOf(taken, 'next')
      return { allowed: allowed(taken), counted: both(equal(first, now), equal(count, cost), equal(level, ZERO)) }
    }),
    'a denied request is allowed at the time that it is given, and not a microsecond before': over((penalty) => {
      const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
      const denied = penalty.run(object(state), now, penalty.step('consume', cost))
      penalty.path.assume(not(allowed(denied)))
      const retry = microsAt(penalty.decision(denied, now, cost, false), 'retryAfterMs')
      const [kept, at] = [field(denied, 'kept'), penalty.path.name(sum(now, retry))]
      penalty.path.assume(atMost(at, number(LATEST)))
      const peek = penalty.step('peek', cost)
      const before = penalty.run(kept, penalty.path.name(difference(at, number(1))), peek)
      const then = penalty.run(kept, at, peek)
      return { later: below(ZERO, retry), allowed: allowed(then), 'not before': not(allowed(before)) }
    }),
    'a peek leaves the state, unless the clock has stepped back': over((penalty) => {
      const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
      const kept = numbersOf(penalty.run(object(state), now, penalty.step('peek', cost)), 'kept')
      return { unchanged: implies(atMost(state.writtenAt, now), sameNumbers(kept, state)) }
    }),
    'a clock that steps back adds no units, and denies for as long as before': over((penalty) => {
      const [state, earlier, cost] = [penalty.state(), penalty.moment('earlier'), penalty.cost()]
      penalty.path.assume(atMost(earlier, state.writtenAt))
      const peek = penalty.step('peek', cost)
      const at = penalty.run(object(state), state.writtenAt, peek)
      const back = penalty.run(object(state), earlier, peek)
      const [base, moved] = [numbersOf(at, 'base'), numbersOf(back, 'base')]
      const span = (to: Num, from: Num): Num => difference(to, from)
      return {
        'the same answer': same(allowed(at), allowed(back)),
        'the same units': equal(base.count, moved.count),
        'the same window': equal(span(base.writtenAt, base.first), span(moved.writtenAt, moved.first)),
        'the same block': same(below(ZERO, base.until), below(ZERO, moved.until)),
        'as long': implies(
          below(ZERO, base.until),
          equal(span(base.until, base.writtenAt), span(moved.until, moved.writtenAt)),
        ),
      }
    }),
    'blocks in a row are counted until they are forgiven': over((penalty) => {
      const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
      penalty.path.assume(atMost(state.writtenAt, now))
      const base = numbersOf(penalty.run(object(state), now, penalty.step('peek', cost)), 'base')
      const { until, level, last } = state
      const [blocked, ended] = [below(now, until), both(below(ZERO, until), atMost(until, now))]
      const forgiven = (end: Num): Bool => atMost(penalty.forgive, difference(now, end))
      const isZero = both(equal(base.level, ZERO), equal(base.last, ZERO))
      return {
        'during a block': implies(blocked, sameNumbers(base, state, ['count', 'until', 'level', 'last'])),
        'after a block': implies(
          both(ended, not(forgiven(until))),
          both(equal(base.level, sum(level, number(1))), equal(base.last, until)),
        ),
        'forgiven after a block': implies(both(ended, forgiven(until)), isZero),
        'between blocks': implies(
          both(equal(until, ZERO), below(ZERO, level)),
          either(both(forgiven(last), isZero), both(not(forgiven(last)), sameNumbers(base, state, ['level', 'last']))),
        ),
      }
    }),
    'a refund returns its units to the window that counts them, and lifts the block that they have started': over(
      (penalty) => {
        const [state, now] = [penalty.state(), penalty.moment('now')]
        const [units, since] = [penalty.path.input('units', 1, MOST_UNITS), penalty.moment('since')]
        const refunded = penalty.run(object(state), now, penalty.step('refund', units, since))
        const [base, next] = [numbersOf(refunded, 'base'), numbersOf(refunded, 'next')]
        const returned = when(equal(since, base.first), lesser(units, base.count))
        const lifted = both(below(ZERO, returned), below(next.count, penalty.limit))
        return {
          allowed: allowed(refunded),
          exactly: equal(next.count, difference(base.count, returned)),
          'the block': equal(next.until, when(not(lifted), base.until)),
          'nothing else': sameNumbers(next, base, ['writtenAt', 'first', 'level', 'last']),
        }
      },
    ),
    'a charge is counted beyond the limit, up to the most that is exact': over((penalty) => {
      const [state, now] = [penalty.state(), penalty.moment('now')]
      const units = penalty.path.input('units', 1, MOST_UNITS)
      const charged = penalty.run(object(state), now, penalty.step('charge', units))
      const [base, next] = [numbersOf(charged, 'base'), numbersOf(charged, 'next')]
      return {
        allowed: allowed(charged),
        counted: equal(next.count, lesser(sum(base.count, units), number(MOST_UNITS))),
        'no shorter block': atMost(base.until, next.until),
      }
    }),
  }
  if (!extend) {
    return {
      ...common,
      'a denial leaves the state, unless the clock has stepped back': over((penalty) => {
        const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
        const kept = numbersOf(penalty.run(object(state), now, penalty.step('consume', cost)), 'kept')
        return { unchanged: implies(atMost(state.writtenAt, now), sameNumbers(kept, state)) }
      }),
    }
  }
  return {
    ...common,
    'a denial during a block starts it again, and changes nothing else': over((penalty) => {
      const [state, now, cost] = [penalty.state(), penalty.moment('now'), penalty.cost()]
      penalty.path.assume(atMost(state.writtenAt, now))
      const denied = penalty.run(object(state), now, penalty.step('consume', cost))
      const kept = numbersOf(denied, 'kept')
      const blocked = below(now, state.until)
      return {
        denied: implies(blocked, not(allowed(denied))),
        'starts again': implies(blocked, atMost(greater(state.until, sum(now, penalty.block)), kept.until)),
        'nothing else': implies(blocked, sameNumbers(kept, state, ['first', 'count', 'level', 'last'])),
        'only during a block': either(blocked, sameNumbers(kept, state)),
      }
    }),
  }
}

import { allowed, LATEST, LONGEST } from './bucket-model.ts'
import { type Exact, exactSum, notAfter } from './exact.ts'
import { twice } from './slowdown-model.ts'
import { exactOver, type Property } from './solver.ts'
import {
  atMost,
  type Bool,
  below,
  both,
  difference,
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
  type Value,
  ZERO,
} from './values.ts'
import { isState, numbersOf, WarmUp, type WarmUpNumbers } from './warm-up-model.ts'
import { microsAt } from './window-model.ts'

const turnIn = ({ ahead, early }: WarmUpNumbers): Exact => ({ tick: ahead, early })
/** The turn as a moment. */
const turnOf = ({ writtenAt, ahead, early }: WarmUpNumbers): Exact => ({ tick: sum(writtenAt, ahead), early })
const sameNumbers = (a: WarmUpNumbers, b: WarmUpNumbers, names: readonly (keyof WarmUpNumbers)[] = ALL): Bool =>
  both(...names.map((name) => equal(a[name], b[name])))
const ALL = ['writtenAt', 'ahead', 'early', 'cold', 'scale'] as const
const BY_NOW = ['ahead', 'early', 'cold'] as const

/** The properties of the warm-up kernel, each over all rates, periods, costs, states and times. */
export function warmUpProperties(source: string): Readonly<Record<string, Property>> {
  const over = exactOver((path) => WarmUp.withoutProducts(source, path))
  return {
    'a request is allowed if and only if its turn comes within its wait, and it has no more units than the burst': over(
      (key) => {
        const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
        const wait = key.path.input('wait', 0, LONGEST - 1)
        const taken = key.run(object(state), now, key.step('consume', cost, { maxWaitMicros: wait }))
        const passed = greater(difference(now, state.writtenAt), ZERO)
        const ahead = greater(difference(state.ahead, passed), ZERO)
        return { fits: same(allowed(taken), both(atMost(cost.units, key.burst), atMost(ahead, wait))) }
      },
    ),
    'a new key is cold, and allows any burst': over((key) => {
      const [now, cost] = [key.moment('now'), key.cost('cost')]
      const taken = key.take(UNDEFINED, now, cost)
      const { ahead, cold } = numbersOf(taken, 'base')
      return {
        allowed: same(allowed(taken), atMost(cost.units, key.burst)),
        cold: both(equal(ahead, ZERO), equal(cold, twice(key.half))),
      }
    }),
    'a take moves the next turn by the time of its units, and by three times that at most': over((key) => {
      const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
      const taken = key.take(object(state), now, cost)
      const [base, next] = [numbersOf(taken, 'base'), numbersOf(taken, 'next')]
      const warm = exactSum(turnIn(base), cost, key.scale)
      const isWarm = atMost(base.cold, key.half)
      return {
        'the parts of a microsecond': both(equal(next.early, warm.early), atMost(warm.tick, next.ahead)),
        'three times at most': atMost(next.ahead, sum(warm.tick, twice(cost.tick))),
        'at the whole rate when warm': implies(isWarm, equal(next.ahead, warm.tick)),
        'warmer by its units': equal(
          next.cold,
          greater(difference(base.cold, difference(warm.tick, base.ahead)), ZERO),
        ),
      }
    }),
    'turns are at least the time of the units before them apart': over((key) => {
      const [first, second] = [key.moment('first'), key.moment('second')]
      key.path.assume(atMost(first, second))
      const cost = key.cost('cost')
      const taken = key.take(key.found(first), first, cost)
      const later = key.run(field(taken, 'taken'), second, key.step('peek', cost))
      const turn = exactSum(turnOf(numbersOf(taken, 'base')), cost, key.scale)
      return { apart: notAfter(turn, turnOf(numbersOf(later, 'base'))) }
    }),
    'a key gets colder by a microsecond in each idle one, until it is as cold as a new key': over((key) => {
      const [state, now, later] = [key.state(), key.moment('now'), key.moment('later')]
      key.path.assume(both(atMost(state.writtenAt, now), atMost(now, later)))
      const peek = key.step('peek', key.cost('cost'))
      const first = key.run(object(state), now, peek)
      const base = numbersOf(first, 'base')
      const idle = greater(difference(now, sum(state.writtenAt, state.ahead)), ZERO)
      const second = key.run(field(first, 'base'), later, peek)
      return {
        exactly: equal(base.cold, lesser(sum(state.cold, idle), twice(key.half))),
        'however often it is read': sameNumbers(
          numbersOf(second, 'base'),
          numbersOf(key.run(object(state), later, peek), 'base'),
        ),
      }
    }),
    'a state may be deleted when it is as cold as a new key, and not a microsecond before': over((key) => {
      const [state, now] = [key.state(), key.moment('now')]
      const peek = key.step('peek', key.cost('cost'))
      const empty = key.kernel.call('coldAt', object(state), key.half) as Num
      key.path.assume(atMost(state.writtenAt, now))
      const found = numbersOf(key.run(object(state), now, peek), 'base')
      const fresh = numbersOf(key.run(UNDEFINED, now, peek), 'base')
      return { exactly: same(sameNumbers(found, fresh), atMost(empty, now)) }
    }),
    'a denial and a peek leave the state, unless the clock has stepped back': over((key) => {
      const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
      key.path.assume(atMost(state.writtenAt, now))
      const kept = (verb: 'consume' | 'peek'): WarmUpNumbers =>
        numbersOf(key.run(object(state), now, key.step(verb, cost)), 'kept')
      return { denial: sameNumbers(kept('consume'), state), peek: sameNumbers(kept('peek'), state) }
    }),
    'a clock that steps back changes nothing': over((key) => {
      const [state, earlier, cost] = [key.state(), key.moment('earlier'), key.cost('cost')]
      key.path.assume(below(earlier, state.writtenAt))
      const peek = key.step('peek', cost)
      const at = key.run(object(state), state.writtenAt, peek)
      const back = key.run(object(state), earlier, peek)
      const [base, moved] = [numbersOf(at, 'base'), numbersOf(back, 'base')]
      return {
        'the same answer': same(allowed(at), allowed(back)),
        'the same wait, as cold': sameNumbers(base, moved, BY_NOW),
        'is what is stored': both(sameNumbers(numbersOf(back, 'kept'), moved), equal(moved.writtenAt, earlier)),
      }
    }),
    'a denied request is allowed at the time that it is given, and not a microsecond before': over((key) => {
      const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
      key.path.assume(atMost(cost.units, key.burst))
      const step = key.step('consume', cost)
      const denied = key.run(object(state), now, step)
      key.path.assume(not(allowed(denied)))
      const retry = microsAt(key.denial(denied, now, cost, step), 'retryAfterMs')
      const [kept, at] = [field(denied, 'kept'), key.path.name(sum(now, retry))]
      key.path.assume(atMost(at, number(LATEST)))
      const before = key.run(kept, key.path.name(difference(at, number(1))), step)
      const then = key.run(kept, at, step)
      return { later: below(ZERO, retry), allowed: allowed(then), 'not before': not(allowed(before)) }
    }),
    'a refund of the last take leaves what a take of the rest would have left, until the turn after it': over((key) => {
      const [now, later] = [key.moment('now'), key.moment('later')]
      const [cost, refunded, rest] = [key.cost('cost'), key.cost('refunded'), key.cost('rest')]
      const [state, whole] = [key.found(now), exactSum(refunded, rest, key.scale)]
      key.path.assume(both(atMost(now, later), equal(whole.tick, cost.tick), equal(whole.early, cost.early)))
      const taken = key.take(state, now, cost)
      const less = key.take(state, now, rest)
      key.path.assume(below(later, sum(now, numbersOf(taken, 'next').ahead)))
      const step = key.step('refund', refunded, key.original(taken, now))
      const after = key.run(field(taken, 'taken'), later, step)
      const expected = key.run(field(less, 'taken'), later, key.step('peek', cost))
      return { same: sameNumbers(numbersOf(after, 'next'), numbersOf(expected, 'base')) }
    }),
    'a refund of all units of the last take restores the state, until the turn after it': over((key) => {
      const [now, later] = [key.moment('now'), key.moment('later')]
      const [cost, refunded] = [key.cost('cost'), key.cost('refunded')]
      key.path.assume(both(atMost(now, later), notAfter(cost, refunded)))
      const state = key.found(now)
      const taken = key.take(state, now, cost)
      const step = key.step('refund', refunded, key.original(taken, now))
      const after = numbersOf(key.run(field(taken, 'taken'), later, step), 'next')
      const peek = key.step('peek', cost)
      const at = (found: Value): WarmUpNumbers => numbersOf(key.run(found, later, peek), 'base')
      const isBefore = below(later, sum(now, numbersOf(taken, 'next').ahead))
      return {
        restored: implies(isBefore, sameNumbers(after, at(state))),
        'nothing afterwards': implies(not(isBefore), sameNumbers(after, at(field(taken, 'taken')))),
      }
    }),
    'a refund of an earlier take returns nothing': over((key) => {
      const [first, second, third] = [key.moment('first'), key.moment('second'), key.moment('third')]
      key.path.assume(both(atMost(first, second), atMost(second, third)))
      const [a, b] = [key.cost('a'), key.cost('b')]
      const takenA = key.take(key.found(first), first, a)
      const takenB = key.take(field(takenA, 'taken'), second, b)
      const refunded = key.run(field(takenB, 'taken'), third, key.step('refund', a, key.original(takenA, first)))
      return { nothing: sameNumbers(numbersOf(refunded, 'next'), numbersOf(refunded, 'base')) }
    }),
    'a refund of an unknown take returns at most its units, and nothing before now': over((key) => {
      const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
      const refunded = key.run(object(state), now, key.step('refund', cost))
      const [base, next] = [numbersOf(refunded, 'base'), numbersOf(refunded, 'next')]
      const [returned, colder] = [difference(base.ahead, next.ahead), difference(next.cold, base.cold)]
      const most = sum(cost.tick, twice(cost.tick))
      return {
        allowed: implies(atMost(base.ahead, number(LONGEST)), allowed(refunded)),
        'at most its units, as slow as when cold': both(atMost(ZERO, returned), atMost(returned, most)),
        'nothing before now': implies(equal(base.ahead, ZERO), sameNumbers(next, base)),
        'no colder than by its units, and the time that is then idle': both(
          atMost(ZERO, colder),
          atMost(colder, sum(cost.tick, difference(most, returned))),
        ),
      }
    }),
    'a charge is counted as a take is, before its turn too': over((key) => {
      const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
      const taken = key.take(object(state), now, cost)
      const charged = key.run(object(state), now, key.step('charge', cost))
      return { allowed: allowed(charged), counted: sameNumbers(numbersOf(charged, 'taken'), numbersOf(taken, 'next')) }
    }),
    'a state stays one': over((key) => {
      const [state, now, cost] = [key.state(), key.moment('now'), key.cost('cost')]
      const taken = key.take(object(state), now, cost)
      const refunded = key.run(object(state), now, key.step('refund', cost))
      return {
        taken: isState(numbersOf(taken, 'taken')),
        kept: isState(numbersOf(taken, 'kept')),
        refunded: isState(numbersOf(refunded, 'taken')),
      }
    }),
  }
}

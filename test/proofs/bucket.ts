import { allowed, anyState, Bucket, base, LONGEST, missing, tatOf } from './bucket-model.ts'
import { exactOver, type Property } from './solver.ts'
import {
  atMost,
  below,
  both,
  difference,
  either,
  equal,
  field,
  greater,
  implies,
  lesser,
  not,
  number,
  numberAt,
  sum,
  UNDEFINED,
} from './values.ts'

/** The properties of the bucket kernel, each over all sizes, costs, states and times. */
export function bucketProperties(source: string): Readonly<Record<string, Property>> {
  const over = exactOver((path) => new Bucket(source, path))
  return {
    'a take ends at most one burst after now, and after all earlier takes': over((bucket) => {
      const [state, now, cost] = [anyState(bucket), bucket.moment('now'), bucket.cost('cost')]
      const taken = bucket.run(state, now, bucket.consume(cost))
      const next = numberAt(taken, 'next')
      return {
        'within the burst': implies(allowed(taken), atMost(next, sum(now, bucket.size))),
        'after now': implies(allowed(taken), atMost(sum(now, cost), next)),
        'after earlier takes': implies(
          both(allowed(taken), atMost(difference(state, now), bucket.size)),
          atMost(sum(state, cost), next),
        ),
        'is what is stored': implies(allowed(taken), equal(tatOf(field(taken, 'taken')), next)),
      }
    }),
    'a new key has the whole bucket': over((bucket) => {
      const [now, cost] = [bucket.moment('now'), bucket.cost('cost')]
      const taken = bucket.run(UNDEFINED, now, bucket.consume(cost))
      return { allowed: allowed(taken), full: equal(base(taken), now) }
    }),
    'a denial and a peek leave the state, unless the clock has stepped back': over((bucket) => {
      const [state, now, cost] = [anyState(bucket), bucket.moment('now'), bucket.cost('cost')]
      const kept = tatOf(field(bucket.run(state, now, bucket.consume(cost)), 'kept'))
      const stepped = below(sum(now, bucket.size), state)
      return {
        unchanged: either(stepped, equal(kept, state)),
        'an empty bucket': implies(stepped, equal(kept, sum(now, bucket.size))),
      }
    }),
    'a denied request is allowed at the time that it is given, and not a microsecond before': over((bucket) => {
      const [state, now, cost] = [anyState(bucket), bucket.moment('now'), bucket.cost('cost')]
      const step = bucket.consume(cost)
      const denied = bucket.run(state, now, step)
      bucket.path.assume(not(allowed(denied)))
      const at = bucket.fitsAt(denied, step)
      const kept = field(denied, 'kept')
      const before = bucket.run(kept, bucket.path.name(difference(at, number(1))), step)
      const then = bucket.run(kept, at, step)
      return {
        later: below(now, at),
        'within a bucket': atMost(at, sum(now, bucket.size)),
        allowed: allowed(then),
        'not before': not(allowed(before)),
      }
    }),
    'a clock that steps back adds no units, and denies for one bucket at most': over((bucket) => {
      const [state, now, earlier] = [anyState(bucket), bucket.moment('now'), bucket.moment('earlier')]
      bucket.path.assume(atMost(earlier, now))
      const peek = bucket.consume(bucket.cost('cost'))
      const at = bucket.run(state, now, peek)
      const back = bucket.run(field(at, 'kept'), earlier, peek)
      const again = bucket.run(field(back, 'kept'), now, peek)
      return {
        'no units': atMost(missing(at, now), missing(back, earlier)),
        'one bucket': atMost(missing(back, earlier), bucket.size),
        'nor when it steps forward again': atMost(missing(again, now), missing(at, now)),
      }
    }),
    'time that passes refills one tick a microsecond, and no more': over((bucket) => {
      const [state, now, later] = [anyState(bucket), bucket.moment('now'), bucket.moment('later')]
      bucket.path.assume(atMost(now, later))
      const peek = bucket.consume(bucket.cost('cost'))
      const first = bucket.run(state, now, peek)
      const second = bucket.run(field(first, 'kept'), later, peek)
      return { exactly: equal(base(second), greater(base(first), later)) }
    }),
    'a refund at once restores the state': over((bucket) => {
      const [state, now, cost] = [anyState(bucket), bucket.moment('now'), bucket.cost('cost')]
      const taken = bucket.run(state, now, bucket.consume(cost))
      bucket.path.assume(allowed(taken))
      const refunded = bucket.run(field(taken, 'taken'), now, bucket.refund(taken, now, cost))
      return { restored: equal(numberAt(refunded, 'next'), base(taken)) }
    }),
    'a refund returns at most its units, and nothing that has refilled': over((bucket) => {
      const [state, now, later] = [anyState(bucket), bucket.moment('now'), bucket.moment('later')]
      bucket.path.assume(atMost(now, later))
      const cost = bucket.cost('cost')
      const taken = bucket.run(state, now, bucket.consume(cost))
      bucket.path.assume(allowed(taken))
      const refunded = bucket.run(field(taken, 'taken'), later, bucket.refund(taken, now, cost))
      const next = numberAt(refunded, 'next')
      return {
        'at most its units': atMost(difference(base(refunded), next), cost),
        'nothing that has refilled': atMost(later, next),
        'never more than before': atMost(next, base(refunded)),
        exactly: equal(next, greater(later, difference(numberAt(taken, 'next'), cost))),
      }
    }),
    'a refund leaves later takes their turns, in a queue too': over((bucket) => {
      bucket.queue()
      const [state, first, second] = [anyState(bucket), bucket.moment('first'), bucket.moment('second')]
      const third = bucket.moment('third')
      bucket.path.assume(both(atMost(first, second), atMost(second, third)))
      const [a, b] = [bucket.cost('a'), bucket.cost('b')]
      const takenA = bucket.run(state, first, bucket.consume(a))
      bucket.path.assume(allowed(takenA))
      const takenB = bucket.run(field(takenA, 'taken'), second, bucket.consume(b))
      bucket.path.assume(allowed(takenB))
      const refunded = bucket.run(field(takenB, 'taken'), third, bucket.refund(takenA, first, a))
      const next = numberAt(refunded, 'next')
      const turn = greater(second, difference(numberAt(takenB, 'next'), bucket.burst))
      return {
        'at most its units': atMost(difference(base(refunded), next), a),
        'nothing that has refilled': atMost(third, next),
        'no take before its turn': either(
          equal(next, base(refunded)),
          atMost(sum(turn, lesser(b, bucket.burst)), next),
        ),
      }
    }),
    'a charge may exceed the bucket, and is owed': over((bucket) => {
      const [state, now] = [anyState(bucket), bucket.moment('now')]
      const cost = bucket.path.input('cost', 1, LONGEST)
      bucket.path.assume(atMost(sum(cost, bucket.size), number(LONGEST)))
      const charged = bucket.run(state, now, bucket.charge(cost))
      const next = numberAt(charged, 'next')
      const peeked = bucket.run(field(charged, 'taken'), now, bucket.consume(bucket.size))
      return {
        allowed: allowed(charged),
        counted: equal(next, sum(base(charged), cost)),
        owed: equal(base(peeked), next),
      }
    }),
    'a refund of an unknown take returns at most its units': over((bucket) => {
      const [state, now, cost] = [anyState(bucket), bucket.moment('now'), bucket.cost('cost')]
      const refunded = bucket.run(state, now, bucket.refundAny(cost))
      const next = numberAt(refunded, 'next')
      return {
        'at most its units': equal(next, greater(now, difference(base(refunded), cost))),
        'what is stored': equal(tatOf(field(refunded, 'taken')), next),
      }
    }),
  }
}

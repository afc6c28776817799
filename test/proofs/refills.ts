import { allowed, base, bucketStep, LATEST, LONGEST, tatOf } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import type { Path } from './path.ts'
import { exactOver, type Property } from './solver.ts'
import {
  asNumber,
  atMost,
  below,
  boolean,
  both,
  constant,
  difference,
  either,
  equal,
  field,
  greater,
  implies,
  lesser,
  literal,
  type Num,
  not,
  number,
  numberAt,
  type Obj,
  object,
  same,
  sum,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'
import { microsAt } from './window-model.ts'

/** A refill by `amount` units every `interval` microseconds. */
export interface Schedule {
  readonly interval: number
  readonly amount: number
  readonly tick: number
  readonly offset: number
}

/** A bucket of any size that refills at intervals. A tick is a unit. */
class ScheduledBucket {
  readonly path: Path
  readonly size: Num
  readonly #kernel: Interpreter
  readonly #schedule: Obj

  constructor(source: string, path: Path, schedule: Schedule) {
    this.path = path
    this.#kernel = new Interpreter(source, path)
    this.#schedule = object(Object.fromEntries(Object.entries(schedule).map(([name, value]) => [name, literal(value)])))
    // The turn of an allowed request, which no property reads.
    this.#kernel.replace('turnOf', () => ZERO)
    this.size = path.input('size', 1, Math.floor(LONGEST / schedule.tick))
  }

  moment(name: string): Num {
    return this.path.input(name, 1, LATEST)
  }

  cost(name: string): Num {
    const cost = this.path.input(name, 1, LONGEST)
    this.path.assume(atMost(cost, this.size))
    return cost
  }

  step(increment: Num, check: Num, tolerance: Num): Obj {
    const { size } = this
    return bucketStep({ increment, check, tolerance, ceiling: size, burst: size, schedule: this.#schedule })
  }

  consume(cost: Num): Obj {
    return this.step(cost, cost, this.size)
  }

  charge(cost: Num): Obj {
    return this.step(cost, ZERO, number(LONGEST))
  }

  /** A refund of an unknown take. */
  refund(cost: Num): Obj {
    return this.step(this.path.name(difference(ZERO, cost)), ZERO, number(LONGEST))
  }

  run(state: Value, now: Num, step: Obj): Obj {
    return this.#kernel.call('bucket', state, now, step) as Obj
  }

  tickOf(now: Num): Num {
    return asNumber(this.#kernel.call('tickOf', now, this.#schedule))
  }

  /** The tick at which a stored bucket is full again. */
  fullTick(moment: Num): Num {
    return asNumber(this.#kernel.call('fullTick', moment, this.#schedule))
  }

  /** The tick at which a bucket is full, one size after now at most: its clock may have stepped back. */
  clipped(full: Num, tick: Num): Num {
    return this.path.name(lesser(this.path.name(greater(full, tick)), this.path.name(sum(tick, this.size))))
  }

  /** The first tick at which a step fits. */
  fitsAt(outcome: Obj, step: Obj): Num {
    return asNumber(this.#kernel.call('fitsAt', object({ tick: base(outcome), early: ZERO }), step))
  }

  /** The wait that a denied request is given, in microseconds. */
  wait(outcome: Obj, now: Num, cost: Num, step: Obj): Num {
    const quota = object({ limit: this.size, overdraft: ZERO })
    const decide = this.#kernel.call('decideSchedule', constant('policy'), quota, cost, step, this.#schedule)
    if (decide.kind !== 'function') throw new TypeError('decideSchedule returns a function')
    const taken = object({ allowed: boolean(false), now, base: base(outcome), tat: base(outcome) })
    return microsAt(decide.call([taken]) as Obj, 'retryAfterMs')
  }
}

/** The properties of a bucket that refills at intervals, each over all sizes, costs, states and times. */
export function refillProperties(source: string, schedule: Schedule): Readonly<Record<string, Property>> {
  const over = exactOver((path) => new ScheduledBucket(source, path, schedule))
  return {
    'a take ends at most one burst after now, and is what is stored': over((bucket) => {
      const [state, now, cost] = [bucket.moment('state'), bucket.moment('now'), bucket.cost('cost')]
      const taken = bucket.run(state, now, bucket.consume(cost))
      const [next, tick] = [numberAt(taken, 'next'), bucket.tickOf(now)]
      bucket.path.assume(allowed(taken))
      return {
        'within the burst': atMost(next, sum(tick, bucket.size)),
        'after earlier takes': equal(next, sum(base(taken), cost)),
        'not before now': atMost(tick, base(taken)),
        'what is stored': equal(bucket.fullTick(tatOf(field(taken, 'taken'))), next),
      }
    }),
    'a new key has the whole bucket': over((bucket) => {
      const [now, cost] = [bucket.moment('now'), bucket.cost('cost')]
      const taken = bucket.run(UNDEFINED, now, bucket.consume(cost))
      return { allowed: allowed(taken), full: equal(base(taken), bucket.tickOf(now)) }
    }),
    'an amount refills at the start of each interval, and nothing in between': over((bucket) => {
      const [now, later] = [bucket.moment('now'), bucket.moment('later')]
      bucket.path.assume(atMost(now, later))
      const [{ interval, amount, offset }, span] = [schedule, difference(later, now)]
      const refilled = difference(bucket.tickOf(later), bucket.tickOf(now))
      const isStart = equal({ ...now, term: `(mod (+ ${now.term} ${offset}) ${interval})` }, ZERO)
      return {
        'at most an amount more than in even time': atMost(
          { ...refilled, term: `(* ${interval} (- ${refilled.term} ${amount}))` },
          { ...span, term: `(* ${amount} ${span.term})` },
        ),
        'at the start': implies(both(isStart, equal(span, number(interval))), equal(refilled, number(amount))),
        'nothing before': implies(both(isStart, below(span, number(interval))), equal(refilled, ZERO)),
      }
    }),
    'a denial and a peek leave the state, unless the clock has stepped back': over((bucket) => {
      const [state, now, cost] = [bucket.moment('state'), bucket.moment('now'), bucket.cost('cost')]
      const kept = tatOf(field(bucket.run(state, now, bucket.consume(cost)), 'kept'))
      const empty = bucket.path.name(sum(bucket.tickOf(now), bucket.size))
      const stepped = below(empty, bucket.fullTick(state))
      return {
        unchanged: either(stepped, equal(kept, state)),
        'an empty bucket': implies(stepped, equal(bucket.fullTick(kept), empty)),
      }
    }),
    'a bucket is full at the tick of its state, and one size from now at most': over((bucket) => {
      const [state, now, cost] = [bucket.moment('state'), bucket.moment('now'), bucket.cost('cost')]
      const step = bucket.consume(cost)
      const found = bucket.run(state, now, step)
      const tick = bucket.tickOf(now)
      return {
        full: equal(base(found), bucket.clipped(bucket.fullTick(state), tick)),
        'allowed from the tick on at which it fits': same(allowed(found), atMost(bucket.fitsAt(found, step), tick)),
      }
    }),
    'a denied request fits at the time that it is given, and not a microsecond before': over((bucket) => {
      const [state, now, cost] = [bucket.moment('state'), bucket.moment('now'), bucket.cost('cost')]
      const step = bucket.consume(cost)
      const denied = bucket.run(state, now, step)
      bucket.path.assume(not(allowed(denied)))
      const at = bucket.path.name(sum(now, bucket.wait(denied, now, cost, step)))
      bucket.path.assume(atMost(at, number(LATEST)))
      const fits = bucket.fitsAt(denied, step)
      return {
        later: below(now, at),
        fits: atMost(fits, bucket.tickOf(at)),
        'not before': below(bucket.tickOf(bucket.path.name(difference(at, number(1)))), fits),
      }
    }),
    'a refund returns at most its units, and nothing that has refilled': over((bucket) => {
      const [state, now, cost] = [bucket.moment('state'), bucket.moment('now'), bucket.cost('cost')]
      const refunded = bucket.run(state, now, bucket.refund(cost))
      const next = numberAt(refunded, 'next')
      return {
        exactly: equal(next, greater(bucket.tickOf(now), difference(base(refunded), cost))),
        'what is stored': equal(bucket.fullTick(tatOf(field(refunded, 'taken'))), next),
      }
    }),
    'a charge may exceed the bucket, and is owed': over((bucket) => {
      const [state, now, cost] = [bucket.moment('state'), bucket.moment('now'), bucket.cost('cost')]
      const charged = bucket.run(state, now, bucket.charge(cost))
      const [next, stored] = [numberAt(charged, 'next'), tatOf(field(charged, 'taken'))]
      const isDebt = below(sum(bucket.tickOf(now), bucket.size), next)
      const owed = bucket.path.name(greater(stored, difference(ZERO, stored)))
      return {
        allowed: allowed(charged),
        counted: equal(next, sum(base(charged), cost)),
        'a debt': same(isDebt, below(stored, ZERO)),
        owed: equal(bucket.fullTick(owed), next),
      }
    }),
  }
}

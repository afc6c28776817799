/*
 * All-or-nothing over two stores: a request consumes units in the first, then in the second, and if that denies, what it has
 * consumed is refunded. Spin explores every order of the steps of several requests, and of time.
 *
 * A unit refills in one tick of time, and a bucket holds BURST units. When all requests are answered, each bucket must be in
 * the state that it would have if the denied requests had never come, or in one with fewer units: those that have refilled
 * while the denied requests were between the stores. No unit is there twice.
 *
 * The names are those of packages/core/src/kernels/bucket.ts: `tat`, and `gross`, which identifies a take for its refund.
 */

#ifndef REQUESTS
#define REQUESTS 4
#endif
#ifndef BURST
#define BURST 3
#endif
#define START 8
#ifndef TICKS
#define TICKS 3
#endif

#define max(a, b) ((a) > (b) -> (a) : (b))
#define min(a, b) ((a) < (b) -> (a) : (b))

byte now = START;
byte answered;

/* A bucket, and its takes in their order: when, how many units, and whether they are kept. */
typedef Bucket { byte tat; byte gross; byte count; byte at[REQUESTS]; byte units[REQUESTS]; bool kept[REQUESTS]; byte refilled };
Bucket stores[2];

/* Sets `allowed`, and `until` and `number` of a take. */
inline take(store, cost) {
  base = max(stores[store].tat, now);
  allowed = base + cost - now <= BURST;
  if
  :: allowed ->
    stores[store].gross = max(stores[store].gross, base) + cost;
    stores[store].tat = base + cost;
    until = stores[store].gross;
    number = stores[store].count;
    stores[store].at[number] = now;
    stores[store].units[number] = cost;
    stores[store].kept[number] = true;
    stores[store].count++
  :: else -> skip
  fi;
  base = 0
}

/* Returns what has not refilled of a take that ends at `until`, or at `ends` at the earliest. */
inline refund(store, cost) {
  base = max(stores[store].tat, now);
  gross = max(stores[store].gross, base);
  if
#ifdef MUTANT_WHOLE
  :: true -> returned = min(cost, base - now)
#elif defined(MUTANT_NOTHING)
  :: true -> returned = 0
#else
  :: until == gross -> returned = min(cost, base - now); gross = gross - returned
  :: until < gross ->
    ends = max(until - (gross - base), min(ends, base));
    returned = (ends > now -> min(cost, ends - now) : 0)
  :: until > gross -> returned = 0
#endif
  fi;
  stores[store].tat = base - returned;
  stores[store].gross = max(gross, stores[store].tat);
  stores[store].kept[number] = false;
  stores[store].refilled = stores[store].refilled + min(cost, now - stores[store].at[number]);
  base = 0; gross = 0; returned = 0
}

active [REQUESTS] proctype Request() {
  byte cost, base, gross, until, ends, number, returned;
  bool allowed;
  atomic {
    select(cost : 1 .. 2);
    take(0, cost);
    ends = now + cost
  };
  if
  :: allowed ->
    byte first = until;
    byte firstNumber = number;
    atomic { take(1, cost) };
    if
    :: !allowed ->
      atomic { until = first; number = firstNumber; refund(0, cost) }
    :: else -> skip
    fi
  :: else -> skip
  fi;
  atomic { cost = 0; until = 0; ends = 0; number = 0; first = 0; firstNumber = 0; allowed = false; answered++ }
}

active proctype Clock() {
  do
  :: now < START + TICKS -> now++
  :: break
  od
}

/* Takes again what is kept, in the same order, and compares. */
active proctype Check() {
  byte store, i, ideal;
  answered == REQUESTS ->
  d_step {
    do
    :: store < 2 ->
      i = 0; ideal = 0;
      do
      :: i < stores[store].count ->
        if
        :: stores[store].kept[i] -> ideal = max(ideal, stores[store].at[i]) + stores[store].units[i]
        :: else -> skip
        fi;
        i++
      :: else -> break
      od;
      ideal = max(ideal, now);
      assert(max(stores[store].tat, now) >= ideal);
      assert(max(stores[store].tat, now) <= ideal + stores[store].refilled);
      store++
    :: else -> break
    od
  }
}

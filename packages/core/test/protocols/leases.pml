/*
 * The protocol of leases: processes consume units of one bucket in a store for many requests at once, spend them by
 * themselves, and return the rest. Spin explores every order of their steps, of time, and of messages that travel.
 *
 * A unit refills in one tick of time. The bucket holds BURST units, and a lease is for MOST units or for what its requests
 * need. Clocks run at one rate. A reply may be lost, and a process may end: its units refill.
 *
 * The names are those of packages/core/src/wrappers: `tat` is the time at which the bucket is full again, and `held` is the
 * number of units of a lease that are left, the last ones before the lease's `tat`.
 *
 * Each mutant (-DMUTANT_...) breaks one rule of the protocol, and must violate the assertion.
 */

#ifndef BURST
#define BURST 4
#endif
#ifndef MOST
#define MOST 2
#endif
#ifndef START
#define START 8
#endif
#ifndef TICKS
#define TICKS 5
#endif
/* The units by which the ledger may exceed the bucket: after a reset, those of the leases. */
#ifdef RESETS
#ifndef OVER
#define OVER (2 * MOST)
#endif
#else
#define OVER 0
#endif

#define max(a, b) ((a) > (b) -> (a) : (b))
#define min(a, b) ((a) < (b) -> (a) : (b))
#define left_of(held, tat, time) ((tat) > (time) -> min(held, (tat) - (time)) : 0)

byte now = START;
/* The bucket in the store. */
byte stored = START;
/* A bucket that consumes a unit when a request is allowed: the bound of all requests in any span of time. */
byte ledger = START;
bool was_reset;

/* Requests are allowed: never more than BURST and what refills, in any span of time. */
inline admit(units) {
  ledger = max(ledger, now) + units;
  assert(ledger - now <= BURST + OVER)
}

/* The lease of a process: `ahead` is how far its estimate of the store's time is ahead of it. */
typedef Lease { byte held; byte tat; short ahead };

inline forget(lease) { lease.held = 0; lease.tat = 0; lease.ahead = 0 }

/* The step that returns a lease, if nothing was consumed after it. It may arrive late. */
inline return_lease(lease) {
  atomic {
    units = left_of(lease.held, lease.tat, now + lease.ahead);
    tat = lease.tat;
    forget(lease);
    printf("give %d %d\n", _pid, units)
  };
  if
  :: units > 0 ->
    atomic {
      if
#ifdef MUTANT_RETURN_ANYHOW
      :: stored > now -> stored = max(now, stored - units)
#else
      :: stored > now && stored == tat -> stored = max(now, stored - units)
#endif
      :: else -> skip
      fi;
      printf("returned %d %d\n", _pid, max(stored, now))
    }
  :: else -> skip
  fi;
  atomic { units = 0; tat = 0 }
}

/* A call of one request, as without leases. */
inline check() {
  atomic {
    if
    :: max(stored, now) + 1 - now <= BURST -> stored = max(stored, now) + 1; admit(1)
    :: else -> skip
    fi;
    printf("check %d\n", max(stored, now))
  }
}

active [2] proctype Process() {
  Lease lease, old;
  byte asked, answered, needed, units, tat, left;
  bool allowed;
  do
  /* A request spends a unit of the lease. */
  :: atomic {
      lease.held > 0 ->
      left = left_of(lease.held, lease.tat, now + lease.ahead);
      if
      :: left > 0 -> lease.held = left - 1; admit(1)
      :: else -> skip
      fi;
      printf("spend %d %d\n", _pid, left);
      left = 0;
      if
      :: lease.held == 0 -> forget(lease)
      :: else -> skip
      fi
    }
  /* Requests wait for a lease. The old one is put aside. */
  :: atomic {
      now < START + TICKS ->
      select(needed : 1 .. 2);
      units = max(MOST, needed);
      old.held = lease.held; old.tat = lease.tat; old.ahead = lease.ahead;
#ifdef MUTANT_SPEND_WHILE_ASKING
      skip;
#else
      forget(lease);
#endif
      asked = now;
      printf("ask %d\n", _pid)
    };
    /* The store's step. If the reply is lost, no request gets the units that it consumed. */
    atomic {
      allowed = max(stored, now) + units - now <= BURST;
      left = left_of(old.held, old.tat, now);
      printf("take %d %d %d %d\n", _pid, units, allowed, left);
      if
      :: allowed ->
        stored = max(stored, now) + units;
        if
        :: admit(needed);
          tat = stored; answered = now
        :: allowed = false; left = 0; forget(old); printf("lost %d\n", _pid)
        fi
      :: else -> skip
      fi
    };
    /* The reply arrives. */
    if
    :: allowed ->
      atomic {
        lease.tat = tat;
#ifdef MUTANT_LEFT_BY_THE_OLD_CLOCK
        lease.held = old.held + units - needed;
#else
        lease.held = left + units - needed;
#endif
#ifdef MUTANT_DATED_BY_THE_REPLY
        lease.ahead = answered - now;
#else
        lease.ahead = answered - asked;
#endif
        printf("lease %d %d\n", _pid, lease.held);
        if
        :: lease.held == 0 -> forget(lease)
        :: else -> skip
        fi;
        forget(old); asked = 0; answered = 0; units = 0; tat = 0; left = 0; needed = 0; allowed = false
      }
    :: else ->
      atomic { asked = 0; units = 0; tat = 0; left = 0 };
      return_lease(old);
      check();
      needed = 0
    fi
  /* The lease is idle, or the process ends. */
  :: atomic { lease.held > 0 -> skip }; return_lease(lease)
  :: atomic { lease.held > 0 -> forget(lease); printf("end %d\n", _pid) }
  :: atomic { now == START + TICKS && lease.held == 0 -> break }
  od
}

active proctype Clock() {
  do
  :: atomic { now < START + TICKS -> now++; printf("tick %d\n", now) }
  :: else -> break
  od
}

#ifdef RESETS
/* The key is reset: units count from now on. Leases of before may be spent still. */
active proctype Operator() {
  atomic { stored = now; ledger = now }
}
#endif

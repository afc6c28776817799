// Makes every clock of a process run SLOW times as fast, and every wait end as much earlier: what takes a millisecond
// takes SLOW of them, as on a machine that is so much slower. Loaded by LD_PRELOAD into Node and the servers that tests
// start: their clocks agree, as SLOW_WALL and SLOW_STEADY say when the run began, in nanoseconds.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef long long nanos;
#define SECOND 1000000000LL

static nanos slow, wall, steady;

static void read_environment(void) {
  if (slow) return;
  wall = atoll(getenv("SLOW_WALL"));
  steady = atoll(getenv("SLOW_STEADY"));
  slow = atoll(getenv("SLOW"));
}

static nanos nanos_of(const struct timespec *t) { return t->tv_sec * SECOND + t->tv_nsec; }
static struct timespec timespec_of(nanos n) { return (struct timespec){n / SECOND, n % SECOND}; }

static nanos now(clockid_t clock) {
  struct timespec t;
  syscall(SYS_clock_gettime, clock, &t);
  nanos n = nanos_of(&t);
  read_environment();
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return wall + (n - wall) * slow;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
      return steady + (n - steady) * slow;
    default: // time of the processor
      return n;
  }
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  *t = timespec_of(now(clock));
  return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  (void)zone;
  nanos n = now(CLOCK_REALTIME);
  *t = (struct timeval){n / SECOND, n % SECOND / 1000};
  return 0;
}

time_t time(time_t *t) {
  time_t seconds = now(CLOCK_REALTIME) / SECOND;
  if (t) *t = seconds;
  return seconds;
}

static int sooner(int millis) {
  read_environment();
  return millis <= 0 ? millis : (millis + slow - 1) / slow;
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int millis, const sigset_t *mask) {
  return syscall(SYS_epoll_pwait, fd, events, most, sooner(millis), mask, 8);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int millis) {
  return epoll_pwait(fd, events, most, millis, NULL);
}

int poll(struct pollfd *fds, nfds_t count, int millis) { return syscall(SYS_poll, fds, count, sooner(millis)); }

static struct timeval sooner_by(struct timeval t) {
  read_environment();
  nanos micros = t.tv_sec * 1000000LL + t.tv_usec;
  nanos less = (micros + slow - 1) / slow;
  return (struct timeval){less / 1000000, less % 1000000};
}

int select(int count, fd_set *in, fd_set *out, fd_set *failed, struct timeval *timeout) {
  struct timeval less = timeout ? sooner_by(*timeout) : (struct timeval){0, 0};
  return syscall(SYS_select, count, in, out, failed, timeout ? &less : NULL);
}

int nanosleep(const struct timespec *t, struct timespec *left) {
  read_environment();
  struct timespec less = timespec_of(nanos_of(t) / slow);
  return syscall(SYS_nanosleep, &less, left);
}

// PostgreSQL's timeouts.
int setitimer(__itimer_which_t which, const struct itimerval *timer, struct itimerval *before) {
  struct itimerval less = {{0, 0}, sooner_by(timer->it_value)};
  return syscall(SYS_setitimer, which, &less, before);
}

// The time is an absolute one, of either clock.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!next) next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  read_environment();
  nanos origin = until->tv_sec > 1000000000 ? wall : steady;
  struct timespec sooner = timespec_of(origin + (nanos_of(until) - origin) / slow);
  return next(condition, mutex, &sooner);
}

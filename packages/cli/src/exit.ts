/** The exit codes. */
export const EXIT = {
  ok: 0,
  /** A policy is invalid, a server or a file fails, or a confirmation was denied. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The log does not represent the traffic: it is empty, or too little of it could be read. */
  noVerdict: 3,
  /** More requests are denied than `--deny-at-most` allows. k6 has the same code for a missed threshold. */
  threshold: 99,
} as const

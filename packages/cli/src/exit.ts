/** What the program exits with. */
export const EXIT = {
  ok: 0,
  /** A policy is invalid, a server or a file fails, or a question was answered with no. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** There is nothing to judge, or too little of it could be read. */
  noVerdict: 3,
  /** More is refused than `--refuse-at-most` allows, as k6 exits when a threshold is missed. */
  threshold: 99,
} as const

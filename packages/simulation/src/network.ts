import type { Effect } from './batches.ts'
import type { Host } from './runtime/host.ts'
import type { Random } from './runtime/random.ts'
import type { World } from './runtime/world.ts'
import type { StateServer } from './state-server.ts'

/** The network between a process and a server. */
export interface Link {
  /** The shortest time that a message takes, and the mean of what is added at random, in microseconds. */
  baseMicros: number
  jitterMicros: number
  /** No message arrives before. */
  heldUntil: number
  /** How many further replies are lost, each with its connection. */
  repliesToLose: number
}

/** What a command has done to a key and its client does not know, or what it should have done and has not. */
export interface LostEffect extends Effect {
  /** `'unknown'`: its reply was lost. `'again'`: the command was executed before. `'never'`: it was not executed. */
  readonly how: 'unknown' | 'again' | 'never'
  readonly at: number
  readonly server: StateServer
}

/** What the connections of a client have in common. */
export interface Wire {
  readonly world: World
  readonly host: Host
  readonly server: StateServer
  readonly link: Link
  readonly random: Random
  /** The process gives its client a command that would have these effects. */
  readonly onSent: (intents: readonly Effect[]) => void
  /** A connection could not be opened. */
  readonly onUnopened: () => void
  readonly onLost: (effect: LostEffect) => void
}

/** When a message arrives that is sent now: not before the last one of its connection. */
export const arrivalAt = ({ world, link, random }: Wire, last: number): number =>
  Math.max(world.now + link.baseMicros + random.spread(link.jitterMicros), link.heldUntil, last)

/** Reports effects that are lost, or that have happened without their client knowing. */
export function reportLost(wire: Wire, effects: readonly Effect[], how: LostEffect['how']): void {
  const { server, world, onLost } = wire
  for (const effect of effects) onLost({ ...effect, how, at: world.now, server })
}

import { type Effect, intentsOf } from '../batches.ts'
import { arrivalAt, reportLost, type Wire } from '../network.ts'
import type { Command, RedisServer } from './server.ts'

/** What a connection connects. */
export interface Ends extends Wire {
  readonly server: RedisServer
  /** Whether commands without a reply are sent again on the next connection, as ioredis does; otherwise they fail. */
  readonly resends: boolean
}

interface Sent {
  readonly command: Command
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: Error) => void
  /** Effects of executions whose reply has not arrived. */
  effects: readonly Effect[]
}

const RECONNECT_MICROS = 20_000

/** A connection: messages arrive late, but in their order. If it breaks, what is under way is lost, or sent again. */
export class Connection {
  readonly #ends: Ends
  #isUp = true
  #isSilent = false
  /** How often it has been broken: what was sent before does not arrive. */
  #epoch = 0
  #lastRequest = 0
  #lastReply = 0
  readonly #queue: Sent[] = []
  readonly #underWay = new Set<Sent>()

  constructor(ends: Ends) {
    this.#ends = ends
  }

  send(command: Command): Promise<unknown> {
    this.#ends.onSent(intentsFor(command))
    return new Promise((resolve, reject) => {
      const sent = { command, resolve, reject, effects: [] }
      if (this.#isUp) this.#transmit(sent)
      else this.#queue.push(sent)
    })
  }
  /** Loses what is under way and what follows, without an error, until the client's timeout. */
  silence(micros: number): void {
    this.#isSilent = true
    const epoch = this.#epoch
    this.#ends.world.after(micros, () => {
      if (epoch === this.#epoch) this.cut()
    })
  }
  cut(): void {
    this.#epoch++
    this.#isSilent = false
    const broken = [...this.#underWay]
    this.#underWay.clear()
    if (this.#ends.resends) this.#queue.unshift(...broken)
    else for (const sent of broken) this.#fail(sent)
    if (this.#isUp) this.#ends.world.after(RECONNECT_MICROS, () => this.#reconnect())
    this.#isUp = false
  }

  #reconnect(): void {
    const { host, server, link, world } = this.#ends
    if (!host.isAlive) return
    if (!server.isUp || world.now < link.heldUntil) {
      world.after(RECONNECT_MICROS, () => this.#reconnect())
    } else {
      this.#isUp = true
      for (const sent of this.#queue.splice(0)) this.#transmit(sent)
    }
  }
  #transmit(sent: Sent): void {
    this.#underWay.add(sent)
    this.#lastRequest = arrivalAt(this.#ends, this.#lastRequest)
    const epoch = this.#epoch
    this.#ends.world.at(this.#lastRequest, () => this.#arrive(sent, epoch))
  }
  #arrive(sent: Sent, epoch: number): void {
    const { world, server } = this.#ends
    if (epoch !== this.#epoch || this.#isSilent) return
    if (!server.isUp) this.cut()
    else if (world.now < server.frozenUntil) world.at(server.frozenUntil, () => this.#arrive(sent, epoch))
    else this.#reply(sent, this.#execute(sent))
  }
  /** Executes a command on the server; returns what settles it. */
  #execute(sent: Sent): () => void {
    try {
      const [answer, effects] = this.#ends.server.execute(sent.command)
      if (sent.effects.length > 0) reportLost(this.#ends, effects, 'again')
      sent.effects = [...sent.effects, ...effects]
      return () => {
        sent.effects = sent.effects.slice(0, sent.effects.length - effects.length)
        sent.resolve(answer)
      }
    } catch (error) {
      return () => sent.reject(error as Error)
    }
  }
  #reply(sent: Sent, settle: () => void): void {
    const { link, world, host } = this.#ends
    if (link.repliesToLose > 0) {
      link.repliesToLose--
      this.cut()
      return
    }
    const epoch = this.#epoch
    this.#lastReply = arrivalAt(this.#ends, this.#lastReply)
    world.at(this.#lastReply, () => {
      if (epoch !== this.#epoch || this.#isSilent) return
      this.#underWay.delete(sent)
      const arrived = (): void => {
        settle()
        // Earlier executions, whose replies a broken connection has lost.
        reportLost(this.#ends, sent.effects, 'unknown')
      }
      host.receive(arrived, () => reportLost(this.#ends, sent.effects, 'unknown'))
    })
  }
  #fail(sent: Sent): void {
    reportLost(this.#ends, sent.effects, 'unknown')
    if (sent.effects.length === 0) reportLost(this.#ends, intentsFor(sent.command), 'never')
    this.#ends.host.receive(() => sent.reject(new Error('Connection is closed.')))
  }
}

/** What a command would consume or refund if it were executed. */
const intentsFor = ({ program }: Command): readonly Effect[] => (program ? intentsOf(program.batches) : [])

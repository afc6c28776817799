import { messageOf, TYPE } from './messages.ts'

/** What is used of the module `pm2`. */
export interface Pm2 {
  launchBus(callback: (error: Error | null, bus: Bus) => void): void
  sendDataToProcessId(id: number, packet: object, callback: (error: Error | null) => void): void
}

/** The bus of PM2's daemon, with an event for each message of a process: its `type`. */
interface Bus {
  on(
    event: string,
    listener: (packet: { readonly process: { readonly pm_id: number }; readonly data: unknown }) => void,
  ): void
}

/** Receives the messages of all processes of PM2. Their daemon knows a process by its number. */
export function listenToPm2(pm2: Pm2, receive: (message: unknown, send: (message: unknown) => void) => void): void {
  pm2.launchBus((error, bus) => {
    if (error) throw error
    bus.on(TYPE, ({ process, data }) =>
      receive(messageOf(data), (reply) => pm2.sendDataToProcessId(process.pm_id, reply as object, ignored)),
    )
  })
}

const ignored = (): void => {}

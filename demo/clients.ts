import { type Answer, type Send, sendWhenTold, until } from './http.ts'
import { BURST } from './limits.ts'

/** How long the clients send, in milliseconds. */
const SPAN = 4900

/** The allowed requests of the well-behaved clients, on every server, also on a busy machine. */
export const PROMISED: Readonly<Record<string, number>> = { steady: 20, burst: 30, weighted: 7 }

/** Consumes at most 4 units a second while 5 refill: after a stall it does not catch up. */
async function steady(send: Send): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const { sent } = await send()
    await until(sent + 250)
  }
}

/** Consumes its burst at once and retries too early. After that it follows the headers. */
async function burst(send: Send): Promise<void> {
  let answers = await volley(send, BURST)
  let missing = 30 - admitted(answers)
  await until(performance.now() + 120)
  answers = await volley(send, 3)
  missing -= admitted(answers)
  while (missing > 0) {
    const latest = answers.reduce((least, each) => (each.left < least.left ? each : least))
    const goes = latest.allowed && latest.left > 0
    answers = goes ? await volley(send, Math.min(latest.left, missing)) : [await sendWhenTold(send, latest)]
    missing -= admitted(answers)
  }
}

/** Sends every 50 ms and ignores every response. */
async function abuser(send: Send): Promise<void> {
  const end = performance.now() + SPAN
  while (performance.now() < end) {
    await send()
    await until(performance.now() + 50)
  }
}

/** Sends requests of several units, and waits for Retry-After if they do not fit. One request can never fit. */
async function weighted(send: Send): Promise<void> {
  for (const cost of [1, 2, 3, 4, BURST, BURST + 2, 5, 5]) {
    let answer = await send(cost)
    while (!answer.allowed && cost <= BURST) answer = await sendWhenTold(send, answer, cost)
    await until(answer.received + 120)
  }
}

/** The four clients, in the order of the drawing. */
export const CLIENTS: Readonly<Record<string, (send: Send) => Promise<void>>> = { steady, burst, abuser, weighted }

const volley = (send: Send, size: number): Promise<Answer[]> => Promise.all(Array.from({ length: size }, () => send()))

const admitted = (answers: readonly Answer[]): number => answers.filter(({ allowed }) => allowed).length

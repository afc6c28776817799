import { type Answer, type Send, sendWhenTold, until } from './http.ts'
import { BURST } from './servers.ts'

/** How long the clients go on, in milliseconds. */
const SPAN = 4900

/** What the well-behaved clients get in the end, on every server and however busy the machine: admitted requests. */
export const PROMISED: Readonly<Record<string, number>> = { steady: 20, burst: 30, weighted: 7 }

/** Asks for four units a second where five come back. */
async function steady(send: Send): Promise<void> {
  const start = performance.now()
  for (let i = 0; i < 20; i++) {
    await until(start + i * 250)
    await send()
  }
}

/** Spends its burst at once and asks again too early. From then on it does what the headers say. */
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

/** Hammers, whatever the answer. */
async function abuser(send: Send): Promise<void> {
  const end = performance.now() + SPAN
  while (performance.now() < end) {
    await send()
    await until(performance.now() + 25)
  }
}

/** Asks for several units at a time, waiting as told where they are not there. One request is too big for any wait. */
async function weighted(send: Send): Promise<void> {
  for (const cost of [1, 2, 3, 4, BURST, BURST + 2, 5, 5]) {
    let answer = await send(cost)
    while (!answer.allowed && cost <= BURST) answer = await sendWhenTold(send, answer, cost)
    await until(answer.received + 120)
  }
}

/** The four kinds of client, in the order they are drawn. */
export const CLIENTS: Readonly<Record<string, (send: Send) => Promise<void>>> = { steady, burst, abuser, weighted }

const volley = (send: Send, size: number): Promise<Answer[]> => Promise.all(Array.from({ length: size }, () => send()))

const admitted = (answers: readonly Answer[]): number => answers.filter(({ allowed }) => allowed).length

import type { SimulatedTime } from './simulated.ts'

/** A service with a bottleneck of 1,000 calls a second. */
export type Service = (done: () => void) => void

/** So many servers, each of which serves one call at a time, in the order of their arrival. */
export function servers(time: SimulatedTime, count: number, millis: () => number): Service {
  const waiting: (() => void)[] = []
  let [busy, head] = [0, 0]
  const serve = (done: () => void): void => {
    busy += 1
    time.after(millis(), () => {
      busy -= 1
      const next = waiting[head]
      if (next) {
        head += 1
        if (head > 1_000) {
          waiting.splice(0, head)
          head = 0
        }
        serve(next)
      }
      done()
    })
  }
  return (done) => {
    if (busy < count) serve(done)
    else waiting.push(done)
  }
}

/** Does something that takes this long before a call: it is no bottleneck. */
export const after =
  (time: SimulatedTime, millis: () => number, service: Service): Service =>
  (done) =>
    void time.after(millis(), () => service(done))

// Every runtime has a console, though no ECMAScript library declares it.
declare const console: { warn(message: string): void }

const said = new Set<string>()

/** Tells the developer, once, of a likely mistake that is no reason to stop. */
export function warnOnce(message: string): void {
  if (said.has(message)) return
  said.add(message)
  console.warn(`spillway: ${message}`)
}

import type { Io } from '../io.ts'

/** How often the screen is redrawn, in milliseconds. */
const EVERY_MS = 1_000

/** A terminal's input, which can report each key at once. */
type Terminal = Io['stdin'] & { setRawMode?(raw: boolean): unknown }

/** The keys of the keyboard as they are pressed, and an empty text each second. Ends with the input. */
export async function* eventsOf(stdin: Terminal, everyMs: number = EVERY_MS): AsyncGenerator<string> {
  const waiting: string[] = []
  let wake = (): void => {}
  let ended = false
  const add = (event: string): void => {
    // Seconds that a slow redraw has missed are not made up for.
    if (event !== '' || !waiting.includes('')) waiting.push(event)
    wake()
  }
  const onData = (data: Buffer | string): void => keysIn(String(data)).forEach(add)
  const onEnd = (): void => {
    ended = true
    wake()
  }
  const timer = setInterval(() => add(''), everyMs)
  stdin.setRawMode?.(true)
  stdin.on('data', onData)
  stdin.once('end', onEnd)
  try {
    while (!ended || waiting.length > 0) {
      const event = waiting.shift()
      if (event !== undefined) yield event
      else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    clearInterval(timer)
    stdin.off('data', onData)
    stdin.off('end', onEnd)
    stdin.setRawMode?.(false)
    stdin.pause()
  }
}

/** The keys in what a terminal has sent at once: an escape sequence is one key. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
const keysIn = (data: string): readonly string[] => data.match(/\u001b\[[0-9;]*[A-Za-z~]|[\s\S]/gu) ?? []

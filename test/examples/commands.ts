/** A command that a README shows, and the lines that it says the command prints, in their order. */
export interface Command {
  readonly line: string
  readonly expected: readonly string[]
}

/** The `sh` blocks of a README: each is a program, and what to run beside it. Comments are what a command prints. */
export function blocksOf(markdown: string): readonly (readonly Command[])[] {
  return [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => {
    const commands: { line: string; expected: string[] }[] = []
    for (const line of text.trimEnd().split('\n')) {
      if (line.startsWith('# ')) commands.at(-1)?.expected.push(line.slice(2))
      else commands.push({ line, expected: [] })
    }
    return commands
  })
}

/** Waits differ by the time that commands take. */
const steady = (line: string): string =>
  line
    .trimEnd()
    .replace(/(?<=retry-after: |;t=|in )\d+/gi, 'N')
    .replace(/\bseconds\b/, 'second')
    .replace(/(?<="?retryAfterMs"?: ?|"retry-after-ms":)[\d.]+/, 'N')

/** The first expected line that an output does not have after those before it; undefined if it has all. */
export function missingIn(output: string, expected: readonly string[]): string | undefined {
  const lines = output.split('\n').map(steady)
  let from = 0
  return expected.find((line) => {
    const at = lines.indexOf(steady(line), from)
    from = at + 1
    return at < 0
  })
}

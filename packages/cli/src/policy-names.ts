/** The most characters of a policy's name. */
const LONGEST = 100

/** A name like this one that is not taken, and now is: of at most 100 printable ASCII characters, as a policy needs. */
export function claimedName(name: string, taken: Set<string>): string {
  const ascii = name.replace(/[^ -~]/gu, '_')
  for (let i = 1; ; i++) {
    const number = i === 1 ? '' : ` ${i}`
    const wanted = `${ascii.slice(0, LONGEST - number.length)}${number}`
    if (taken.has(wanted)) continue
    taken.add(wanted)
    return wanted
  }
}

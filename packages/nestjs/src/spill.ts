/** The part of a policy that says which one it spills over to. */
interface Spilling {
  readonly name?: string
  readonly spill?: string
}

/** The name of a policy. */
export const nameOf = ({ name = 'default' }: Spilling): string => name

/** The policy that spills over to one; undefined if none does. No two do. */
export const sourceOf = <P extends Spilling>(policies: readonly P[], name: string): P | undefined =>
  policies.find(({ spill }) => spill === name)

/**
 * The policies that count the calls of a method which skips some. As in core, a policy that another one spills over to counts
 * only what that one denies: nothing, if that one does not count.
 */
export function countingOf<P extends Spilling>(policies: readonly P[], isSkipped: (name: string) => boolean): P[] {
  const counts = (policy: P): boolean => {
    const source = sourceOf(policies, nameOf(policy))
    return !isSkipped(nameOf(policy)) && (source === undefined || counts(source))
  }
  return policies.filter(counts)
}

/** Changes policies, some of them to other names. Each spills over to the same one as before, if that one is among them. */
export function renamed<P extends Spilling>(policies: readonly P[], change: (policy: P) => P): P[] {
  const changed = policies.map(change)
  const names = new Map(policies.map((policy, i) => [nameOf(policy), nameOf(changed[i] as P)]))
  return changed.map((policy) => {
    const { spill, ...rest } = policy
    const target = spill === undefined ? undefined : names.get(spill)
    return { ...rest, ...(target !== undefined && { spill: target }) } as P
  })
}

import { blockListName } from '../algorithms/penalty/block-list.ts'

/** The name of the states of a shadow policy. */
export const shadowName = (name: string): string => `${name} (shadow)`

/** The names that a policy takes: its own, and those of its states. */
export function namesOf({
  name = 'default',
  mode,
  blocks,
}: {
  readonly name?: string
  readonly mode?: 'enforce' | 'shadow'
  readonly blocks?: boolean
}): readonly string[] {
  const state = mode === 'shadow' ? shadowName(name) : name
  return [...new Set([name, state]), ...(blocks === true ? [blockListName(state)] : [])]
}

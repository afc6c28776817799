import type { VNode } from 'vue'
import { hasWindow, type Scene, wordsOf } from './lane-kind.ts'
import type { Playground } from './state.ts'

/** What the lines of the drawings are. */
export function legend({ choices: { scene }, dashed }: Playground): VNode {
  const [yes, no] = wordsOf(scene)
  return (
    <p class="pg-legend">
      <span class="pg-up">{yes}</span>
      {(scene === 'algorithms' || scene === 'slots') && <span class="pg-lean">allowed after a delay</span>}
      <span class="pg-down">{no}</span>
      {IN_USE[scene] && <span class="pg-used">{IN_USE[scene]}</span>}
      {dashed.value !== '' && <span class="pg-its">{dashed.value}</span>}
      {!hasWindow(scene) && <span class="pg-most">limit</span>}
      {OUTAGES[scene] && <span class="pg-down-time">{OUTAGES[scene]}</span>}
      {hasWindow(scene) && <span class="pg-edge">window boundary</span>}
    </p>
  )
}

const IN_USE: Partial<Record<Scene, string>> = { slots: 'slots in use', shedding: 'in flight' }
const OUTAGES: Partial<Record<Scene, string>> = {
  failing: 'the store does not answer',
  shedding: 'the service is half as fast',
}

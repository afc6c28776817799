import type { VNode } from 'vue'
import type { Playground } from './state.ts'

/** What the lines of the drawings are. */
export const legend = ({ choices, dashed }: Playground): VNode => (
  <p class="pg-legend">
    <span class="pg-up">allowed</span>
    {choices.scene === 'algorithms' && <span class="pg-lean">allowed after a delay</span>}
    <span class="pg-down">denied</span>
    {dashed.value !== '' && <span class="pg-its">{dashed.value}</span>}
    {choices.scene === 'failing' && <span class="pg-down-time">the store does not answer</span>}
    <span class="pg-edge">window boundary</span>
  </p>
)

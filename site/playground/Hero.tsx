import { type Decision, type Taken, tokenBucket } from '@spillway/core'
import { decide, stepFor } from '@spillway/core/internal'
import { memoryStore, rateLimiter } from '@spillway/memory'
import { defineComponent, onBeforeUnmount, ref, shallowRef } from 'vue'
import { spanText } from './summary.ts'
import './playground.css'

const quota = tokenBucket({ limit: 5, per: '5s' })
/** The number of listed answers. */
const LISTED = 4

/** A real bucket on the home page. It runs only while a visitor uses it. */
export const Hero = defineComponent(() => {
  const store = memoryStore()
  const limiter = rateLimiter({ quota, store })
  const answers = shallowRef<readonly Decision[]>([])
  const level = ref(quota.limit)
  let frame = 0

  const follow = (): void => {
    const step = stepFor(quota, 'peek', 1)
    const [taken] = store.takeSync([{ policy: 'default', key: 'visitor', step }]) as [Taken]
    const { resetAfterMs } = decide('default', quota, 1, step, taken)
    level.value = quota.limit - (resetAfterMs * 1000 * quota.scale) / quota.ticksPerUnit
    if (resetAfterMs > 0) frame = requestAnimationFrame(follow)
  }
  const send = (): void => {
    answers.value = [limiter.consumeSync('visitor'), ...answers.value].slice(0, LISTED)
    cancelAnimationFrame(frame)
    follow()
  }
  onBeforeUnmount(() => cancelAnimationFrame(frame))

  const line = ({ allowed, remaining, retryAfterMs }: Decision, i: number) => (
    <li key={answers.value.length - i}>
      <span class={allowed ? 'pg-status pg-yes' : 'pg-status pg-no'}>{allowed ? 200 : 429}</span>{' '}
      {allowed ? `${remaining} left` : `again in ${spanText(Math.ceil(retryAfterMs))}`}
    </li>
  )
  return () => (
    <div class="pg pg-hero">
      <div class="pg-vessel" aria-hidden="true">
        <div class="pg-water" style={{ transform: `scaleY(${(level.value / quota.limit).toFixed(4)})` }} />
        <span>{Math.floor(level.value + 1e-6)}</span>
      </div>
      <div>
        <code>{`tokenBucket({ limit: 5, per: '5s' })`}</code>
        <button type="button" class="pg-send" onClick={send}>
          Send a request
        </button>
        <ol aria-live="polite">
          {answers.value.length === 0 ? <li>This is a real bucket. Empty it.</li> : answers.value.map(line)}
        </ol>
      </div>
    </div>
  )
})

import type { Micros } from '@spillway/core'
import { onBeforeUnmount, type Ref, ref } from 'vue'

/** Plays a run. */
export interface Player {
  readonly playing: Ref<boolean>
  play(): void
  pause(): void
}

/** The duration of a replayed run in milliseconds, unless it plays in real time. */
const WATCHED_MS = 12_000

/** Advances `at` with every frame, until `span`. */
export function player(at: Ref<Micros>, span: () => Micros, realTime: () => boolean): Player {
  const playing = ref(false)
  let frame = 0
  let before = 0
  const step = (now: number): void => {
    const speed = realTime() ? 1000 : span() / WATCHED_MS
    // A tab that was in the background continues where it was.
    at.value = Math.min(at.value + Math.min(now - before, 100) * speed, span())
    before = now
    if (at.value >= span()) playing.value = false
    else frame = requestAnimationFrame(step)
  }
  const pause = (): void => {
    playing.value = false
    cancelAnimationFrame(frame)
  }
  onBeforeUnmount(pause)
  return {
    playing,
    pause,
    play: () => {
      if (playing.value) return
      if (at.value >= span()) at.value = 0
      playing.value = true
      before = performance.now()
      frame = requestAnimationFrame(step)
    },
  }
}

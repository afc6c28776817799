import { defineComponent, ref } from 'vue'
import type { Playground } from './state.ts'
import { spanText } from './summary.ts'

/** Controls to play, seek and send requests. A component of its own, because it is redrawn with every frame. */
export const Transport = defineComponent(
  (props: {
    play: Playground
    playing: boolean
    toggle: () => void
    send: (cost: number) => void
    pause: () => void
  }) => {
    const cost = ref(1)
    return () => {
      const { at, traffic } = props.play
      return (
        <div class="pg-transport">
          <button type="button" class="pg-main" onClick={props.toggle}>
            {props.playing ? '❚❚ Pause' : '▶ Play'}
          </button>
          <input
            type="range"
            class="pg-scrub"
            aria-label="Time"
            aria-valuetext={`after ${spanText(at.value / 1000)}`}
            min={0}
            max={traffic.value.span}
            step={traffic.value.span / 600}
            value={at.value}
            onInput={(event) => {
              props.pause()
              at.value = Number((event.target as HTMLInputElement).value)
            }}
          />
          <span class="pg-moment">
            {`${at.value < 1e9 ? (at.value / 1e6).toFixed(1) : Math.round(at.value / 1e6)} s`}
          </span>
          <label class="pg-cost">
            <span>cost</span>
            <input
              type="number"
              inputmode="numeric"
              min={1}
              value={cost.value}
              onInput={(event) => {
                cost.value = Math.max(Math.trunc(Number((event.target as HTMLInputElement).value)), 1)
              }}
            />
          </label>
          <button type="button" class="pg-send" onClick={() => props.send(cost.value)}>
            Send a request
          </button>
        </div>
      )
    }
  },
  { props: ['play', 'playing', 'toggle', 'send', 'pause'] },
)

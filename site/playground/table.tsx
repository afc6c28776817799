import type { VNode } from 'vue'
import { SCENES } from './lane-kind.ts'
import type { Playground } from './state.ts'
import { spanText } from './summary.ts'

/** The results of all algorithms for the same traffic. */
export function comparison({ lanes, window, choices }: Playground): VNode {
  const most = Math.max(choices.limit, ...lanes.value.map(({ result }) => ('run' in result ? result.summary.most : 0)))
  const hasMemory = lanes.value.some(({ kind }) => kind.memory !== undefined)
  const share = (units: number): string => `${(units / most) * 100}%`
  return (
    <section class="pg-panel pg-comparison" aria-labelledby="pg-comparison">
      <h2 id="pg-comparison">Side by side</h2>
      <div class="pg-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{SCENES[choices.scene]}</th>
              <th scope="col">Allowed</th>
              <th scope="col">Denied</th>
              <th scope="col">
                Most units in any {spanText(window.value / 1000)} for one client; the mark is the limit
              </th>
              {hasMemory && <th scope="col">State of a key</th>}
            </tr>
          </thead>
          <tbody>
            {lanes.value.map(({ kind, result }) =>
              'run' in result ? (
                <tr key={kind.id}>
                  <th scope="row">{kind.name}</th>
                  <td>{result.summary.admitted}</td>
                  <td>{result.summary.denied}</td>
                  <td>
                    <span class="pg-bar" aria-hidden="true">
                      <span style={{ width: share(Math.min(result.summary.most, choices.limit)) }} />
                      <span
                        class="pg-over"
                        style={{ width: share(Math.max(result.summary.most - choices.limit, 0)) }}
                      />
                      <i style={{ left: share(choices.limit) }} />
                    </span>
                    {result.summary.most}
                  </td>
                  {hasMemory && <td>{kind.memory}</td>}
                </tr>
              ) : null,
            )}
          </tbody>
        </table>
      </div>
    </section>
  )
}

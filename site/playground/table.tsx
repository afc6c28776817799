import type { VNode } from 'vue'
import { hasWindow, SCENES, wordsOf } from './lane-kind.ts'
import type { Playground } from './state.ts'
import { spanText } from './summary.ts'

/** The results of all algorithms for the same traffic. */
export function comparison(play: Playground): VNode {
  return (
    <section class="pg-panel pg-comparison" aria-labelledby="pg-comparison">
      <h2 id="pg-comparison">Side by side</h2>
      <div class="pg-scroll">{hasWindow(play.choices.scene) ? unitsTable(play) : factsTable(play)}</div>
    </section>
  )
}

/** The results of lanes without a window: what they say of themselves. */
function factsTable({ lanes, choices }: Playground): VNode {
  const runs = lanes.value.flatMap(({ kind, result }) => ('run' in result ? [{ kind, ...result }] : []))
  const [yes, no] = wordsOf(choices.scene).map((word) => word.replace(/^./, (first) => first.toUpperCase()))
  const columns = Object.keys(runs[0]?.run.facts ?? {})
  return (
    <table>
      <thead>
        <tr>
          {[SCENES[choices.scene], yes, ...columns, no].map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {runs.map(({ kind, run, summary }) => (
          <tr key={kind.id}>
            <th scope="row">{kind.name}</th>
            <td>{summary.admitted}</td>
            {columns.map((column) => (
              <td key={column}>{run.facts?.[column]}</td>
            ))}
            <td>{summary.denied}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The results of quotas with a window. */
function unitsTable({ lanes, window, choices }: Playground): VNode {
  const most = Math.max(choices.limit, ...lanes.value.map(({ result }) => ('run' in result ? result.summary.most : 0)))
  const hasMemory = lanes.value.some(({ kind }) => kind.memory !== undefined)
  const share = (units: number): string => `${(units / most) * 100}%`
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{SCENES[choices.scene]}</th>
          <th scope="col">Allowed</th>
          <th scope="col">Denied</th>
          <th scope="col">Most units in any {spanText(window.value / 1000)} for one client; the mark is the limit</th>
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
                  <span class="pg-over" style={{ width: share(Math.max(result.summary.most - choices.limit, 0)) }} />
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
  )
}

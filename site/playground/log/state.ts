import { type AccessLogs, type LimitResult, type Period, readAccessLogs, type Suggestion } from '@spillway/cli/browser'
import { computed, type Ref, ref, type ShallowRef, shallowRef } from 'vue'

/** The shares of the requests that a suggested quota denies at most. */
export const SHARES = [0, 0.0001, 0.001, 0.01, 0.05] as const

/** A log that a visitor has chosen, and the limit that is tried on it. */
export interface LogState {
  /** The selector of the key. */
  readonly key: Ref<string>
  readonly share: Ref<number>
  readonly per: Ref<Period>
  readonly limit: Ref<number>
  /** The share that was read; undefined if nothing is being read. */
  readonly progress: Ref<number | undefined>
  readonly problem: Ref<string>
  readonly logs: ShallowRef<AccessLogs | undefined>
  readonly suggestions: Ref<readonly Suggestion[]>
  /** The lowest limit that denies nothing: the end of the slider. */
  readonly enough: Ref<number>
  readonly result: Ref<LimitResult | undefined>
  /** Reads files; without any, those of the last call again, with another key. */
  read(files?: readonly File[]): Promise<void>
  choose(suggestion: Suggestion): void
}

export function logState(): LogState {
  const [key, share] = [ref('ip'), ref(0.001)]
  const [per, limit] = [ref<Period>('minute'), ref(1)]
  const [progress, problem] = [ref<number>(), ref('')]
  const logs = shallowRef<AccessLogs>()
  let chosen: readonly File[] = []
  const suggestions = computed(() => logs.value?.suggest(share.value) ?? [])
  const choose = (suggestion: Suggestion | undefined): void => {
    if (suggestion === undefined) return
    per.value = suggestion.per
    limit.value = suggestion.limit
  }
  const read = async (files: readonly File[] = chosen): Promise<void> => {
    if (files.length === 0 || progress.value !== undefined) return
    chosen = files
    problem.value = ''
    logs.value = undefined
    progress.value = 0
    try {
      const onProgress = (share: number): void => {
        progress.value = share
      }
      logs.value = await readAccessLogs(files, { key: key.value.trim(), onProgress })
      choose(suggestions.value.find((each) => each.per === per.value))
    } catch (error) {
      problem.value = (error as Error).message
    } finally {
      progress.value = undefined
    }
  }
  return {
    key,
    share,
    per,
    limit,
    progress,
    problem,
    logs,
    suggestions,
    enough: computed(() => Math.max(logs.value?.enough(per.value) ?? 1, 2)),
    result: computed(() => (logs.value?.requests ? logs.value.tryLimit(per.value, limit.value) : undefined)),
    read,
    choose,
  }
}

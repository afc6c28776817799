import {
  type Attributes,
  context,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { type Store, StoreError, type SyncStore } from '@spillway/core'
import { bounded, type Instruments, SCOPE } from './instruments.ts'
import { quietly } from './quietly.ts'

/** A store that reports its size and its evictions. */
interface CountingStore {
  readonly size: number
  readonly evictions: number
}

const isCountingStore = (store: object): store is CountingStore => 'size' in store && 'evictions' in store

/**
 * Builds the function that measures the keys and the evictions of in-memory stores, when a reader collects them. Stores of one
 * name are added up: of two observations with the same attributes, an SDK keeps one.
 */
export function sizeWatcher(): (store: SyncStore, name: string, meter?: Meter) => void {
  const byName = new Map<string, Set<CountingStore>>()
  return (store, name, meter) => {
    if (!isCountingStore(store)) return
    const known = byName.get(name)
    if (known === undefined) {
      const stores = new Set([store])
      watchSizes(stores, name, meter)
      byName.set(name, stores)
    } else known.add(store)
  }
}

function watchSizes(stores: ReadonlySet<CountingStore>, name: string, meter: Meter = metrics.getMeter(SCOPE)): void {
  const attributes = { 'spillway.store': name }
  const sumOf = (member: keyof CountingStore): number => [...stores].reduce((sum, store) => sum + store[member], 0)
  meter
    .createObservableGauge('spillway.store.keys', {
      unit: '{key}',
      description: 'Keys in an in-memory store.',
    })
    .addCallback((result) => result.observe(sumOf('size'), attributes))
  meter
    .createObservableCounter('spillway.store.evictions', {
      unit: '{key}',
      description: 'Keys that were evicted because the store was full, before their quotas had refilled.',
    })
    .addCallback((result) => result.observe(sumOf('evictions'), attributes))
}

type Timed = 'take' | 'takeEach' | 'delete'

/** A store whose calls are timed, each in its own span; everything else is forwarded. */
export function timed<S extends Store>(
  store: S,
  name: string,
  instruments: () => Instruments,
  tracer: () => Tracer,
): S {
  const errorName = bounded()
  const call = async <T>(
    operation: 'take' | 'delete',
    policies: readonly string[],
    work: () => Promise<T>,
  ): Promise<T> => {
    const attributes: Attributes = { 'spillway.store': name, 'spillway.operation': operation }
    const span = quietly(() =>
      tracer().startSpan(`spillway.${operation}`, {
        kind: SpanKind.CLIENT,
        attributes: { ...attributes, 'spillway.policies': [...policies] },
      }),
    )
    const start = performance.now()
    const record = (more?: Attributes): void =>
      quietly(() => instruments().takes.record((performance.now() - start) / 1000, { ...attributes, ...more }))
    try {
      const result = await (span ? context.with(trace.setSpan(context.active(), span), work) : work())
      record()
      return result
    } catch (error) {
      const type = errorName(typeOf(error))
      record({ 'error.type': type })
      if (span) quietly(() => failed(span, error, type))
      throw error
    } finally {
      quietly(() => span?.end())
    }
  }
  const own: Pick<Store, Timed> = {
    take: (ops, at, deadline) =>
      call(
        'take',
        ops.map(({ policy }) => policy),
        () => store.take(ops, at, deadline),
      ),
    takeEach: (batches, at, deadline) =>
      call(
        'take',
        (batches[0] ?? []).map(({ policy }) => policy),
        () => (store as Required<Store>).takeEach(batches, at, deadline),
      ),
    delete: (keys, deadline) =>
      call(
        'delete',
        keys.map(({ policy }) => policy),
        () => store.delete(keys, deadline),
      ),
  }
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (property in own && value !== undefined) return own[property as Timed]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/**
 * The type of an error: its code if it has one, such as `ECONNREFUSED`; never its message. Of a `StoreError`, which all stores of
 * Spillway throw, that of its cause, or why there was no answer, such as `timeout`.
 */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER'
  if (error instanceof StoreError && error.reason !== 'error') return error.reason
  if (error instanceof StoreError && error.cause instanceof Error) return typeOf(error.cause)
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.name
}

function failed(span: Span, error: unknown, type: string): void {
  if (error instanceof Error) span.recordException(error)
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

import { createWriteStream, type WriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { addressKey, clientAddress } from '@spillway/core/http'
import { type Io, painter, progressBar, UserError } from '../io.ts'
import { type Entry, entryReader } from '../log/entry.ts'
import { type Format, readLogs } from '../log/read.ts'
import { openSource, type Source } from '../log/source.ts'
import { readPolicies } from '../policies.ts'
import { planOf, type RefusalEvent } from '../replay/plan.ts'
import { iso, type Result, resultOf } from '../replay/result.ts'
import { textOf } from '../replay/text.ts'
import { reportOf } from '../report/html.ts'
import { fieldsOf, shareOf } from './options.ts'

export interface ReplayOptions {
  readonly policy: readonly string[]
  readonly html?: string
  readonly json?: boolean
  readonly refusals?: string
  readonly refuseAtMost?: string
  readonly format: Format
  readonly field: readonly string[]
  readonly key: readonly string[]
  readonly trustProxy?: number
  readonly maxKeys: number
}

/** Replays logs on policies and tells what would have become of them; 1 if more was refused than is wanted. */
export async function replay(paths: readonly string[], options: ReplayOptions, io: Io): Promise<number> {
  const files = await readPolicies(options.policy)
  const most = options.refuseAtMost === undefined ? undefined : shareOf(options.refuseAtMost)
  const sources = await openAll(paths, io)
  const refusals = options.refusals === undefined ? undefined : createWriteStream(options.refusals)
  const address = addressOf(options.trustProxy)
  const plans = files.map(({ name, policies }) =>
    planOf(name, policies, {
      maxKeys: options.maxKeys,
      follow: options.key.flatMap((key) => [key, addressKey(key, 56)]),
      ...(address && { address }),
      ...(refusals && { onRefusal: (event) => void refusals.write(lineOf(event)) }),
    }),
  )
  const result = await replayed(sources, plans, options, io)
  if (refusals) await ended(refusals)
  if (options.html !== undefined) await writeFile(options.html, reportOf(result))
  if (options.json) io.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else io.stdout.write(textOf(result, painter(io.stdout, io.env)))
  if (options.html !== undefined) io.stderr.write(`The report is in ${options.html}\n`)
  const over = result.plans.find(({ refused, counted }) => most !== undefined && refused > most * counted)
  if (over) io.stderr.write(`"${over.name}" refuses more than ${options.refuseAtMost} of what it counts.\n`)
  return over ? 1 : 0
}

/** Opens logs; where there are several, says so of the one that is not there. */
export async function openAll(paths: readonly string[], io: Io): Promise<readonly Source[]> {
  const sources: Source[] = []
  for (const path of paths.length === 0 ? ['-'] : paths) {
    try {
      sources.push(await openSource(path, io.stdin))
    } catch (error) {
      throw new UserError(`${path} cannot be read: ${(error as Error).message}`)
    }
  }
  return sources
}

async function replayed(
  sources: readonly Source[],
  plans: readonly ReturnType<typeof planOf>[],
  { format, field }: ReplayOptions,
  io: Io,
): Promise<Result> {
  const total = totalOf(sources)
  const bar = progressBar(io.stderr, total)
  const [only] = plans
  // One plan is the usual case, and a list of one costs more than the plan.
  const judge =
    plans.length === 1 && only
      ? only.judge
      : (entry: Entry, at: number, line: number) => {
          for (const plan of plans) plan.judge(entry, at, line)
        }
  const onProgress = (lines: number): void =>
    bar.update(
      sumOf(sources, ({ done }) => done()),
      lines,
    )
  try {
    const reading = await readLogs(sources, judge, { format, fields: fieldsOf(field), onProgress })
    return resultOf(
      sources.map(({ name }) => name),
      reading,
      plans,
    )
  } finally {
    bar.clear()
  }
}

export const sumOf = <T>(list: readonly T[], of: (each: T) => number): number =>
  list.reduce((all, each) => all + of(each), 0)

export const totalOf = (sources: readonly Source[]): number | undefined =>
  sources.some(({ size }) => size === undefined) ? undefined : sumOf(sources, ({ size }) => size as number)

export function addressOf(hops: number | undefined): ((entry: Entry) => string | undefined) | undefined {
  return hops === undefined
    ? undefined
    : clientAddress(hops, { peer: ({ address }) => address, header: (entry, name) => entryReader.header(entry, name) })
}

function lineOf({ plan, line, at, policy, key, cost, retryAfterMs }: RefusalEvent): string {
  const wait = Number.isFinite(retryAfterMs) ? retryAfterMs : null
  return `${JSON.stringify({ plan, line, at: iso(at), policy, key, cost, retryAfterMs: wait })}\n`
}

const ended = (stream: WriteStream): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.once('error', reject)
    stream.end(() => resolve())
  })

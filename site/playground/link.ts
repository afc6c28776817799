import type { Micros } from '@spillway/core'
import type { HeaderForm } from '@spillway/core/http'
import { ALGORITHM_IDS, type AlgorithmId, type Numbers } from './algorithms.ts'
import { FRAMEWORK_IDS, type FrameworkId } from './frameworks.ts'
import { SCENES, type Scene } from './lane-kind.ts'
import { type Arrival, PATTERNS, type Pattern } from './traffic.ts'

/** All choices of a visitor, which a link can contain. */
export interface Choices extends Numbers {
  readonly scene: Scene
  /** The numbers of the second policy. */
  readonly limit2: number
  readonly every2: number
  readonly unit2: Numbers['unit']
  /** How long a request takes on average, in s, where slots are held. */
  readonly takes: number
  /** The limit that does not adapt. */
  readonly fixed: number
  readonly pattern: Pattern
  readonly load: number
  readonly apart: boolean
  readonly shown: readonly AlgorithmId[]
  /** The lane whose responses and code are shown; if there is none of this name, the first. */
  readonly picked: string
  readonly headers: HeaderForm
  readonly framework: FrameworkId
}

export const DEFAULTS: Choices = {
  scene: 'algorithms',
  limit2: 3,
  every2: 1,
  unit2: 's',
  takes: 2,
  fixed: 200,
  limit: 10,
  every: 10,
  unit: 's',
  burst: 0,
  portions: 2,
  queue: 5,
  pattern: 'bursts',
  load: 1.5,
  apart: true,
  shown: ['token', 'fixed', 'sliding', 'leaky'],
  picked: 'token',
  headers: 'draft-11',
  framework: 'express',
}

/** How long a request takes at most, in s. */
export const MOST_TAKEN = 60

export const HEADER_FORMS: readonly HeaderForm[] = ['draft-11', 'draft-7', 'draft-6', 'legacy-delta', 'legacy-epoch']
export const UNITS = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days' } as const

/** The link of these choices: only those that differ from the defaults. */
export function linkOf(choices: Choices): string {
  const params = Object.entries(choices).filter(
    ([name, value]) => String(value) !== String(DEFAULTS[name as keyof Choices]),
  )
  return new URLSearchParams(params.map(([name, value]) => [name, String(value)])).toString()
}

/** Whether a hash is a link, and not an anchor of the page. The link of the defaults is empty. */
export const isLink = (hash: string): boolean => hash === '' || hash.includes('=')

/** The visitor's own requests and the time that is shown, as parameters of a link. */
export function momentLink(clicks: readonly Arrival[], moment: Micros): string {
  const sent = clicks.map(({ at, cost }) => `${at}:${cost}`).join(',')
  return new URLSearchParams({ ...(sent !== '' && { clicks: sent }), at: String(Math.round(moment)) }).toString()
}

/** The most clicks that a link can contain. */
const MOST_CLICKS = 200

/** Reads the clicks and the time of a link. Invalid values are ignored. */
export function momentOf(link: string): { readonly clicks: readonly Arrival[]; readonly moment: Micros | undefined } {
  const params = new URLSearchParams(link)
  const clicks = (params.get('clicks') ?? '').split(',').slice(0, MOST_CLICKS)
  const at = params.get('at')
  return {
    clicks: clicks.flatMap((click): Arrival[] => {
      const [, time, cost] = /^(\d{1,15}):([1-9]\d{0,5})$/.exec(click) ?? []
      return time === undefined ? [] : [{ at: Number(time), client: 'you', cost: Number(cost), own: true }]
    }),
    moment: at !== null && /^\d{1,15}$/.test(at) ? Number(at) : undefined,
  }
}

const oneOf = <T extends string>(list: readonly T[], text: string | null, otherwise: T): T =>
  list.find((each) => each === text) ?? otherwise

/** Reads a link. Invalid values are ignored. */
export function choicesOf(link: string): Choices {
  const params = new URLSearchParams(link)
  const number = (
    name: 'limit' | 'every' | 'burst' | 'portions' | 'queue' | 'load' | 'limit2' | 'every2' | 'takes' | 'fixed',
    most: number,
  ): number => {
    const value = Number(params.get(name) ?? Number.NaN)
    return value >= 0 && value <= most ? value : DEFAULTS[name]
  }
  const listed = params.get('shown')?.split(',') ?? []
  const shown = ALGORITHM_IDS.filter((id) => listed.includes(id))
  const unit = (name: 'unit' | 'unit2'): Numbers['unit'] =>
    oneOf(Object.keys(UNITS) as Numbers['unit'][], params.get(name), DEFAULTS[name])
  const picked = params.get('picked') ?? ''
  return {
    scene: oneOf(Object.keys(SCENES) as Scene[], params.get('scene'), DEFAULTS.scene),
    limit2: number('limit2', 1e6),
    every2: number('every2', 1e6),
    unit2: unit('unit2'),
    takes: number('takes', MOST_TAKEN),
    fixed: number('fixed', 1e6),
    limit: number('limit', 1e6),
    every: number('every', 1e6),
    unit: unit('unit'),
    burst: number('burst', 1e6),
    portions: number('portions', 1e6),
    queue: number('queue', 1e6),
    pattern: oneOf(Object.keys(PATTERNS) as Pattern[], params.get('pattern'), DEFAULTS.pattern),
    load: number('load', 5),
    apart: params.get('apart') !== 'false',
    shown: shown.length > 0 ? shown : DEFAULTS.shown,
    picked: /^[a-z]{1,12}$/.test(picked) ? picked : DEFAULTS.picked,
    headers: oneOf(HEADER_FORMS, params.get('headers'), DEFAULTS.headers),
    framework: oneOf(FRAMEWORK_IDS, params.get('framework'), DEFAULTS.framework),
  }
}

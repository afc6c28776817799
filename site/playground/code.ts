import { FRAMEWORKS, type FrameworkId } from './frameworks.ts'
import type { LaneKind } from './lane-kind.ts'
import type { Choices } from './link.ts'

const REDIS = "import { redisStore } from '@spillway/redis'\nimport { Redis } from 'ioredis'\n"

/** The line that installs what the code of a lane imports. */
export const installOf = (framework: FrameworkId, { remote }: LaneKind): string =>
  `${FRAMEWORKS[framework].install}${remote ? ' @spillway/redis ioredis' : ''}`

/** The code of a lane for a framework. */
export function codeOf(framework: FrameworkId, lane: LaneKind, choices: Choices): string {
  const { options, policies, imports, remote } = lane
  const { pattern, apart, headers, limit } = choices
  const isHttp = framework !== 'none'
  /** The options that each policy has. */
  const counted = (limit: number): readonly string[] => [
    ...(isHttp && !apart ? [`key: () => 'everybody'`] : []),
    ...(isHttp && pattern === 'weighted' ? [`cost: 'header:x-request-weight'`, `maxCost: ${limit}`] : []),
  ]
  const listed = (policies ?? []).map(([name, quota, limit]) =>
    isHttp ? inBraces([`name: '${name}'`, `quota: ${quota}`, ...counted(limit)]) : `${name}: ${quota}`,
  )
  const several = isHttp ? `policies: [${listed.join(', ')}]` : `quotas: { ${listed.join(', ')} }`
  const text = inBraces([
    ...options,
    ...(policies ? [several] : []),
    ...(remote ? ['store: redisStore(new Redis())'] : []),
    ...(policies ? [] : counted(limit)),
    ...(isHttp && headers !== 'draft-11' ? [`headers: '${headers}'`] : []),
  ])
  return `${remote ? REDIS : ''}${FRAMEWORKS[framework].code(imports.join(', '), text)}`
}

/** Options in one line, or, if that is too long, in a line each. */
function inBraces(options: readonly string[]): string {
  const line = `{ ${options.join(', ')} }`
  return line.length <= 80 ? line : `{\n${options.map((option) => `${option},\n`.replace(/^(?=.)/gm, '  ')).join('')}}`
}

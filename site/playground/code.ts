import { FRAMEWORKS, type FrameworkId } from './frameworks.ts'
import type { LaneKind } from './lane-kind.ts'
import type { Choices } from './link.ts'
import { SHED_CODE } from './shed-code.ts'

const REDIS = "import { redisStore } from '@spillway/redis'\nimport { Redis } from 'ioredis'\n"

/** The line that installs what the code of a lane imports. */
export function installOf(framework: FrameworkId, { remote, shed }: LaneKind): string {
  if (shed !== undefined) return `npm install ${SHED_CODE[framework].install} @spillway/shed`.replace(/ +/g, ' ')
  return `${FRAMEWORKS[framework].install}${remote ? ' @spillway/redis ioredis' : ''}`
}

/** The code of a lane for a framework. */
export function codeOf(framework: FrameworkId, lane: LaneKind, choices: Choices): string {
  const { options, httpOptions = [], policies, imports, remote, acquire, shed } = lane
  if (shed !== undefined) return SHED_CODE[framework].code(imports.map((name) => `${name}, `).join(''), shed)
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
    ...(isHttp ? httpOptions : []),
    ...(policies ? [several] : []),
    ...(remote ? ['store: redisStore(new Redis())'] : []),
    ...(policies ? [] : counted(limit)),
    ...(isHttp && headers !== 'draft-11' ? [`headers: '${headers}'`] : []),
  ])
  const code = `${remote ? REDIS : ''}${FRAMEWORKS[framework].code(imports.join(', '), text)}`
  return isHttp || acquire === undefined
    ? code
    : code.replace(CONSUMES, `await using slot = await limiter.acquire(${acquire})`)
}

/** The last line of the code without HTTP, in place of which slots are acquired. */
const CONSUMES = /const \{.*$/

/** Options in one line, or, if that is too long, in a line each. */
function inBraces(options: readonly string[]): string {
  const line = `{ ${options.join(', ')} }`
  return line.length <= 80 ? line : `{\n${options.map((option) => `${option},\n`.replace(/^(?=.)/gm, '  ')).join('')}}`
}

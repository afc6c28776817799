import { warnOnce } from '../../common/warn.ts'
import type { RequestSources } from '../../http/pipeline/request-sources.ts'
import { pathsOf, type RequestParts } from '../../http/requests/parts.ts'
import type { PathReadings } from '../../http/requests/path.ts'

/** How many requests are examined whose whole path does not match. */
const EXAMINED = 1_000

/**
 * Builds the function that warns of patterns that match the path below the mount of the limiter, but not the whole path:
 * such a policy never applies.
 */
export function mountWarner<R>(
  option: string,
  matches: (path: PathReadings) => boolean,
  { reader, logger }: RequestSources<R>,
): (parts: RequestParts<R>) => void {
  let left = reader.pathInMount === undefined ? 0 : EXAMINED
  return (parts) => {
    if (left === 0) return
    left--
    if (!pathsOf(parts, reader, 'pathInMount').some(matches)) return
    left = 0
    warnOnce(
      logger,
      'WARN_SPILLWAY_MOUNTED_PATH',
      `${option} matches the path of a request below the mount of the limiter, but not its whole path, so that it does not apply. Write the prefix, too: app.use('/api', rateLimit({ …, ${option.replace('.path', '')}: { path: '/api/login' } })).`,
    )
  }
}

import { warnOnce } from '../../common/warn.ts'
import type { RequestSources } from '../keys/request-sources.ts'
import { interpretationsOf } from '../requests/path.ts'

/** How many requests are examined whose whole path does not match. */
const EXAMINED = 1_000

/**
 * Builds the function that warns of patterns that match the path below the mount of the limiter, but not the whole path:
 * such a policy never applies.
 */
export function mountWarner<R>(
  option: string,
  matches: (path: readonly string[]) => boolean,
  { reader: { pathInMount }, logger }: RequestSources<R>,
): (request: R) => void {
  let left = pathInMount === undefined ? 0 : EXAMINED
  return (request) => {
    if (left === 0) return
    left--
    const path = pathInMount?.(request)
    if (path === undefined || !interpretationsOf(path).some(matches)) return
    left = 0
    warnOnce(
      logger,
      'WARN_SPILLWAY_MOUNTED_PATH',
      `${option} matches the path of a request below the mount of the limiter, but not its whole path, so that it does not apply. Write the prefix, too: app.use('/api', rateLimit({ …, ${option.replace('.path', '')}: { path: '/api/login' } })).`,
    )
  }
}

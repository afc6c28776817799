import { processState } from '@spillway/core/internal'

/**
 * What keeps a request running after its response. The module of the objects sets it: that of the store loads in Node, too,
 * and in bundlers that know no module of Workers.
 */
export const lifetime = (): { waitUntil?: ((work: Promise<unknown>) => void) | undefined } =>
  processState('lifetime of requests', () => ({}))

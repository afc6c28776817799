import { made } from './made.ts'
import { bucketVectors } from './vectors/bucket.ts'
import { calendarVectors } from './vectors/calendar.ts'
import { penaltyVectors } from './vectors/penalty.ts'
import { provedBucketVectors } from './vectors/proofs-bucket.ts'
import { provedWindowVectors } from './vectors/proofs-window.ts'
import { refundVectors } from './vectors/refund.ts'
import { slotsVectors } from './vectors/slots.ts'
import type { Vector } from './vectors/vector.ts'
import { warmUpVectors } from './vectors/warm-up.ts'
import { windowVectors } from './vectors/window.ts'

/** Golden vectors: the results that every store, and every port to another language, must return. */
export const vectors: readonly Vector[] = /* @__PURE__ */ made(() => [
  ...bucketVectors,
  ...refundVectors,
  ...windowVectors,
  ...calendarVectors,
  ...warmUpVectors,
  ...penaltyVectors,
  ...slotsVectors,
  ...provedBucketVectors,
  ...provedWindowVectors,
])

// Nuxt 3 and 4, and Nitro 2: server/middleware/limit.ts

import { perMinute, rateLimit } from '@spillway/h3/v1'

export default rateLimit({ quota: perMinute(100) })

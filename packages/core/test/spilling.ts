import { perMinute, perSecond } from '../src/index.ts'

export const quotas = { second: perSecond(2), extra: perMinute(3) }
export const spill = { second: 'extra' }

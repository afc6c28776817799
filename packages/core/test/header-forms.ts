import { headerItem } from '../src/http/headers/header-item.ts'
import { perMinute } from '../src/index.ts'

const NOW = Date.UTC(2026, 0, 1)
export const nowMs = (): number => NOW

export const item = headerItem({ name: 'per minute', quota: perMinute(100) })

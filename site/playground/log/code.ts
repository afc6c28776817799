import type { Period } from '@spillway/cli/browser'

const QUOTAS: Readonly<Record<Period, string>> = {
  second: 'perSecond',
  minute: 'perMinute',
  hour: 'perHour',
  day: 'perDay',
}

/** The quota as an option of `rateLimit`. */
export function quotaText(key: string, per: Period, limit: number): string {
  const options = `quota: ${QUOTAS[per]}(${limit})${key.trim() === 'ip' ? '' : `, key: '${key.trim()}'`}`
  return `app.use(rateLimit({ ${options} }))`
}

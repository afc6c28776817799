/** 0.1 units a second: hardly any refills while a test runs. */
export const QUOTA = { limit: 8_640, per: '1d' } as const
/** The units that a request reserves, and those that it uses. */
export const [RESERVED, USED] = [50, 7]

export const LOGIN = { after: 5, within: '15m', block: '15m', grow: 2, max: '1d', forgive: '1d' } as const
export const minute = 60_000_000

/** Clients of an hour: how many requests each sends a minute, from which minute to which. */
const CLIENTS: readonly (readonly [address: string, perMinute: number, from: number, to: number])[] = [
  ...Array.from({ length: 40 }, (_, i) => [`192.0.2.${i + 1}`, 1 + (i % 6), (i * 7) % 20, 45 + (i % 15)] as const),
  ['198.51.100.7', 30, 0, 60],
  ['203.0.113.66', 240, 22, 31],
]

/** An access log to try the page with: 40 visitors, one client that polls, and one that tries passwords. */
export function exampleLog(): File {
  const requests = CLIENTS.flatMap(([address, perMinute, from, to], client) =>
    Array.from({ length: perMinute * (to - from) }, (_, i) => {
      const second = Math.floor(from * 60 + ((i + client / CLIENTS.length) * 60) / perMinute)
      return {
        second,
        address,
        request: perMinute > 100 ? 'POST /login HTTP/1.1" 401' : 'GET /api/items HTTP/1.1" 200',
      }
    }),
  ).sort((a, b) => a.second - b.second)
  const two = (value: number): string => String(value).padStart(2, '0')
  const lines = requests.map(
    ({ second, address, request }) =>
      `${address} - - [05/Jan/2026:15:${two(Math.floor(second / 60))}:${two(second % 60)} +0000] "${request} 153 "-" "-"\n`,
  )
  return new File(lines, 'example.log')
}

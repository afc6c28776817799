/** The hash slot of a key in a cluster: CRC16 (XMODEM) of its hash tag, or else of the whole key, modulo 16,384. */
export function slotOf(name: string): number {
  const open = name.indexOf('{')
  const close = open < 0 ? -1 : name.indexOf('}', open + 1)
  const tag = close > open + 1 ? name.slice(open + 1, close) : name
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  }
  return crc & 0x3fff
}

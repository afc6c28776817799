/** The smallest whole numbers whose quotient is exactly a decimal number. */
export function fraction(decimal: number): readonly [numerator: number, denominator: number] {
  const [digits = '', exponent = '0'] = String(decimal).split('e')
  const [whole = '', decimals = ''] = digits.split('.')
  const shift = Number(exponent) - decimals.length
  const numerator = BigInt(whole + decimals) * 10n ** BigInt(Math.max(shift, 0))
  const denominator = 10n ** BigInt(Math.max(-shift, 0))
  const divisor = greatestCommonDivisor(numerator, denominator)
  return [Number(numerator / divisor), Number(denominator / divisor)]
}

/** The smallest number that makes all these decimals whole if they are multiplied by it; `Infinity` if it is too large. */
export function commonDenominator(decimals: readonly number[]): number {
  const denominators = decimals.map((each) => fraction(each)[1])
  if (denominators.includes(Infinity)) return Infinity
  return Number(denominators.map(BigInt).reduce((all, each) => (all * each) / greatestCommonDivisor(all, each), 1n))
}

/** A decimal times a whole number: exact up to 15 digits, where `0.1 * 3` is not. */
export function times(decimal: number, factor: number): number {
  const [numerator, denominator] = fraction(decimal)
  return (numerator * factor) / denominator
}

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestCommonDivisor(b, a % b))

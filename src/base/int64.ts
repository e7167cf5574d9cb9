/**
 * Integers of 64 bits as numbers of JavaScript, which are exact only up to 2^53. The integers nearest to ±2^63 would be
 * rounded to ±2^63, which JSON prints as 9223372036854776000: that is no int64. They become the nearest number whose
 * JSON text is an int64.
 */

/** The largest number below 2^63. JSON prints it as 9223372036854775000. */
export const LARGEST_INT64 = 2 ** 63 - 1024;

/** The number for an integer. Only integers outside the range of int64 become ±2^63 or more. */
export function numberOfInt64(integer: bigint): number {
  const number = Number(integer);
  if (Math.abs(number) !== 2 ** 63 || BigInt.asIntN(64, integer) !== integer) return number;
  return number < 0 ? -LARGEST_INT64 : LARGEST_INT64;
}

/** The first digits of all integers that are an int64 and are rounded to ±2^63. */
const ROUNDED_UP = "9223372036854775";

/** Strings, which stay as they are, and numbers. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** JSON.parse, with integers as in `numberOfInt64`. Throws SyntaxError for text that is not JSON. */
export function parseJsonInt64(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!text.includes(ROUNDED_UP)) return value;
  const rounded = text.replace(TOKENS, (token) =>
    /^-?\d{19}$/.test(token) ? String(numberOfInt64(BigInt(token))) : token,
  );
  return JSON.parse(rounded);
}

/**
 * The form in which Kubernetes stores a quantity: no fraction, and the largest suffix of the family it was written in.
 * So "1000m" becomes "1", 0.5 becomes "500m", "1024Mi" becomes "1Gi", and "1e3" keeps an exponent.
 * upstream: apimachinery pkg/api/resource/quantity.go CanonicalizeBytes
 */
import { parseNano } from "./quantity.ts";

const NANO = 1_000_000_000n;
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const cache = new Map<string, string>();
const CACHE_LIMIT = 10_000;

/** The canonical text of a quantity. Undefined: the value is not a quantity. */
export function canonicalQuantity(value: string | number): string | undefined {
  const text = String(value);
  const known = cache.get(text);
  if (known !== undefined) return known;
  const nano = parseNano(text);
  if (nano === undefined) return undefined;
  const result = spell(text, nano);
  if (cache.size < CACHE_LIMIT) cache.set(text, result);
  return result;
}

function spell(text: string, nano: bigint): string {
  if (nano === 0n) return "0";
  if (text.endsWith("i")) {
    const magnitude = nano < 0n ? -nano : nano;
    // A value below 1024 or with a fraction uses decimal suffixes, as in apimachinery.
    if (magnitude >= 1_024n * NANO && nano % NANO === 0n) {
      return scaled(nano / NANO, 1_024n, BINARY, 0);
    }
    return scaled(nano, 1_000n, DECIMAL, 0);
  }
  if (/[eE][+-]?\d/.test(text)) {
    const exponents = DECIMAL.map((_, index) => (index === 3 ? "" : `e${(index - 3) * 3}`));
    return scaled(nano, 1_000n, exponents, 0);
  }
  return scaled(nano, 1_000n, DECIMAL, 0);
}

function scaled(value: bigint, base: bigint, suffixes: readonly string[], from: number): string {
  let unit = from;
  let rest = value;
  while (rest % base === 0n && unit < suffixes.length - 1) {
    rest /= base;
    unit++;
  }
  return `${rest}${suffixes[unit]}`;
}

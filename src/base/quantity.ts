/**
 * Kubernetes quantities. Exact values are in billionths, as BigInt. Decisions use plain integers: thousandths for cpu,
 * whole units (bytes, counts) for every other resource. Fractions are rounded up, as in apimachinery's `Value()` and
 * `MilliValue()`.
 */

const NANO = 1_000_000_000n;

const SUFFIX_NANO: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  "": NANO,
  k: NANO * 1_000n,
  M: NANO * 1_000_000n,
  G: NANO * 1_000_000_000n,
  T: NANO * 1_000_000_000_000n,
  P: NANO * 1_000_000_000_000_000n,
  E: NANO * 1_000_000_000_000_000_000n,
  Ki: NANO << 10n,
  Mi: NANO << 20n,
  Gi: NANO << 30n,
  Ti: NANO << 40n,
  Pi: NANO << 50n,
  Ei: NANO << 60n,
};

/** The largest value. Larger ones are reduced to it, as in apimachinery. */
const MOST_NANO = (2n ** 63n - 1n) * NANO;
/**
 * The largest exponent that is computed. It is above that of every valid value. A huge exponent would take minutes to
 * compute.
 */
const MOST_POWER = 40;

const GRAMMAR = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

/** The exact value in billionths. Undefined: the text is no quantity. JSON numbers are allowed. */
export function parseNano(text: string | number): bigint | undefined {
  const match = GRAMMAR.exec(String(text));
  if (match === null) return undefined;
  const [, sign, digits, exponent, suffix] = match;
  const [whole = "", fraction = ""] = (digits as string).split(".");
  let scale = SUFFIX_NANO[suffix ?? ""] as bigint;
  let mantissa = BigInt(`${whole}${fraction}` || "0");
  if (mantissa === 0n) return 0n;
  const given = (exponent === undefined ? 0 : Number(exponent.slice(1))) - fraction.length;
  const power = Math.min(
    MOST_POWER,
    Math.max(given, -(whole.length + fraction.length) - MOST_POWER),
  );
  if (power >= 0) mantissa *= 10n ** BigInt(power);
  else {
    const divisor = 10n ** BigInt(-power);
    scale *= mantissa;
    // Fractions of a billionth are rounded away from zero, as in apimachinery.
    mantissa = 1n;
    scale = (scale + divisor - 1n) / divisor;
  }
  const amount = mantissa * scale;
  const nano = amount > MOST_NANO ? MOST_NANO : amount;
  return sign === "-" ? -nano : nano;
}

/** Nearly all quantities match this. They have so few digits that plain numbers are exact. */
const PLAIN = /^(\d{1,6})(m|[kMG]|[KMG]i)?$/;
const PLAIN_UNITS: Readonly<Record<string, number>> = {
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** The value in whole units (bytes, counts), rounded up. Undefined: the text is no quantity. */
export function parseUnits(text: string | number): number | undefined {
  const plain = PLAIN.exec(String(text));
  if (plain !== null) {
    const [, digits, suffix] = plain;
    if (suffix === "m") return Math.ceil(Number(digits) / 1_000);
    return Number(digits) * (suffix === undefined ? 1 : (PLAIN_UNITS[suffix] as number));
  }
  return scaleDown(parseNano(text), NANO);
}

/** The value in thousandths, the unit of cpu, rounded up. Undefined: the text is no quantity. */
export function parseMilli(text: string | number): number | undefined {
  const plain = PLAIN.exec(String(text));
  if (plain !== null) {
    const [, digits, suffix] = plain;
    if (suffix === "m") return Number(digits);
    if (suffix === undefined) return Number(digits) * 1_000;
  }
  return scaleDown(parseNano(text), 1_000_000n);
}

/** Writes thousandths as a quantity: `1500` → `1500m`, `2000` → `2`. */
export function formatMilli(milli: number): string {
  return milli % 1_000 === 0 ? String(milli / 1_000) : `${milli}m`;
}

/** Writes bytes in the largest binary unit without a remainder: `1073741824` → `1Gi`. */
export function formatBytes(bytes: number): string {
  const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let value = bytes;
  let unit = 0;
  while (value !== 0 && value % 1_024 === 0 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${value}${units[unit]}`;
}

function scaleDown(nano: bigint | undefined, by: bigint): number | undefined {
  if (nano === undefined) return undefined;
  const quotient = nano / by;
  const up = nano > 0n && nano % by !== 0n ? 1n : 0n;
  return Number(quotient + up);
}

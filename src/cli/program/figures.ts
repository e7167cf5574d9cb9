/** Formats monthly costs and percentages. */

/** Hours of a month (365 days / 12), as in AWS's price lists. */
const HOURS_OF_MONTH = 730;

/** The cost of a month, such as `$1,234.56`, from micro-dollars an hour. */
export function perMonth(microUsdPerHour: number): string {
  const cents = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `$${((microUsdPerHour * HOURS_OF_MONTH) / 1e6).toLocaleString("en", cents)}`;
}

/** A percentage such as `71%`, from a share of 1. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

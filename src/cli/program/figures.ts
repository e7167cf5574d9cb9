/** How commands write figures: money of a month, shares. */

/** Hours of a month, as AWS's own price lists count: 365 days / 12. */
const HOURS_OF_MONTH = 730;

/** `$1,234.56`, from micro-dollars an hour. */
export function perMonth(microUsdPerHour: number): string {
  const cents = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `$${((microUsdPerHour * HOURS_OF_MONTH) / 1e6).toLocaleString("en", cents)}`;
}

/** `71%`, from a share of 1. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

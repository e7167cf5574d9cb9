/**
 * Reads prices from AWS into `Prices`: on-demand ones from the Pricing API, spot ones from the spot price history. If
 * one of them fails, its old prices stay and the failure is logged; the other still succeeds.
 * upstream: pkg/controllers/providers/pricing (every 12 h)
 */
import { type Clock, toRfc3339 } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import type { AwsApi } from "../api/aws-api.ts";
import { allPages } from "../api/call.ts";
import type { PricingFilter } from "../api/pricing.ts";
import { describeError } from "../errors.ts";
import { OddPrices, onDemandPrices, type Prices, spotPrices } from "./pricing.ts";

/** The dependencies of {@link refreshPrices}. */
export interface PricingDeps {
  readonly api: AwsApi;
  readonly prices: Prices;
  readonly clock: Clock;
  readonly log: Logger;
  readonly region: string;
  /** Whether the VPC has no route to the internet. Then the Pricing API is not called. */
  readonly isolatedVpc: boolean;
}

/** Reads on-demand and spot prices. Never rejects. Resolves with whether every price was read. */
export async function refreshPrices(deps: PricingDeps): Promise<boolean> {
  const [onDemand, spot] = await Promise.all([
    attempt(deps, "on-demand", (odd) => readOnDemand(deps, odd)),
    attempt(deps, "spot", (odd) => readSpot(deps, odd)),
  ]);
  if (onDemand && spot) deps.prices.readAtMs = deps.clock.now();
  return onDemand && spot;
}

async function attempt(
  { log }: PricingDeps,
  what: string,
  read: (odd: OddPrices) => Promise<number>,
): Promise<boolean> {
  try {
    const odd = new OddPrices();
    const changed = await read(odd);
    if (odd.told !== undefined)
      log.warn(`ignored ${what} prices that cannot be right, using the earlier ones`, odd.told);
    if (changed > 0) {
      log.debug(`updated ${what} pricing`, { "instance-type-count": changed });
    }
    return true;
  } catch (error) {
    log.error(`retrieving ${what} pricing data, using existing pricing data`, {
      error: describeError(error),
    });
    return false;
  }
}

async function readOnDemand(
  { api, prices, region, isolatedVpc, log }: PricingDeps,
  odd: OddPrices,
): Promise<number> {
  if (isolatedVpc || region.startsWith("us-gov")) {
    log.debug("not asking for on-demand prices, the pricing API cannot be reached from here", {
      region,
    });
    return 0;
  }
  const shared: PricingFilter[] = [
    match("regionCode", region),
    match("serviceCode", "AmazonEC2"),
    match("preInstalledSw", "NA"),
    match("operatingSystem", "Linux"),
    match("capacitystatus", "Used"),
    match("marketoption", "OnDemand"),
  ];
  const queries = [
    [...shared, match("tenancy", "Shared"), match("productFamily", "Compute Instance")],
    [
      ...shared,
      match("tenancy", "Dedicated"),
      match("productFamily", "Compute Instance (bare metal)"),
    ],
  ];
  const currency = region.startsWith("cn-") ? "CNY" : "USD";
  let changed = 0;
  const read = (Filters: PricingFilter[]): Promise<unknown> =>
    allPages(async (token) => {
      const page = await api.pricing.getProducts({
        ServiceCode: "AmazonEC2",
        Filters,
        MaxResults: 100,
        ...token,
      });
      // Parses one page at a time, because parsing all documents at once would block other work.
      changed += prices.setOnDemand(onDemandPrices(page.PriceList, currency, odd));
      return { ...page, PriceList: [] };
    });
  await Promise.all(queries.map(read));
  return changed;
}

async function readSpot({ api, prices, clock }: PricingDeps, odd: OddPrices): Promise<number> {
  const pages = await allPages((token) =>
    api.ec2.describeSpotPriceHistory({
      StartTime: toRfc3339(clock.now()),
      ProductDescriptions: ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"],
      MaxResults: 2_000,
      ...token,
    }),
  );
  return prices.setSpot(
    spotPrices(
      pages.flatMap((page) => page.SpotPriceHistory),
      odd,
    ),
  );
}

function match(Field: string, Value: string): PricingFilter {
  return { Type: "TERM_MATCH", Field, Value };
}

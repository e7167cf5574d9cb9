/**
 * Prices. On-demand prices come from the catalogue. A spot price is 25 to 45 % of that, drawn from the seed
 * for each type and zone; only a fault changes it. The depth of a spot pool comes from the same seed. Fleets
 * with a capacity-optimized strategy prefer deep pools.
 */
import { Random } from "../../../base/random.ts";
import { BoundedMap, within } from "../../../base/within.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { SpotPrice } from "../../../providers/aws/api/images-and-types.ts";
import type { PricingApi } from "../../../providers/aws/api/pricing.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState } from "../account/state.ts";
import { awsTime } from "../account/state.ts";
import type { Catalogue, TypeFacts } from "./catalogue.ts";

const SPOT_FILTERS: ReadonlySet<string> = new Set([
  "availability-zone",
  "instance-type",
  "product-description",
]);

const PRODUCTS = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"];
const HISTORY_LIMIT = 1000;

/** Price and depth of one type in one zone. */
export interface SpotPool {
  readonly priceMicroUsd: number;
  /** The depth of the pool, from 1 (shallow) to 10 (deep). */
  readonly depth: number;
}

/** Number of seeds whose spot pools are kept. */
const KEPT_SEEDS = 8;
/**
 * Spot pools by catalogue, then by seed, then by `type/zone`. They are computed once, because a region has several
 * thousand, and simulations with the same seed share them.
 */
const pools = new WeakMap<Catalogue, BoundedMap<number, Map<string, SpotPool>>>();

/** The spot pool of a type in a zone. Undefined for a type that is not sold as spot. */
export function spotPool(state: AwsState, type: string, zone: string): SpotPool | undefined {
  const facts = state.catalogue.facts.get(type);
  if (facts?.onDemandMicroUsd === undefined || !facts.usageClasses.includes("spot")) {
    return undefined;
  }
  if (!isOffered(state, type, zone)) return undefined;
  const known = poolsOf(state);
  const key = `${type}/${zone}`;
  let pool = known.get(key);
  if (pool === undefined) {
    const random = new Random(`${state.spotSeed}/${key}`);
    const share = 0.25 + 0.2 * random.fraction();
    pool = { priceMicroUsd: quoted(facts.onDemandMicroUsd * share), depth: 1 + random.int(10) };
    known.set(key, pool);
  }
  const factor = state.faults.spotPriceFactor({ instanceType: type, zone });
  return factor === 1 ? pool : { ...pool, priceMicroUsd: quoted(pool.priceMicroUsd * factor) };
}

function poolsOf({ catalogue, spotSeed }: AwsState): Map<string, SpotPool> {
  const bySeed = pools.get(catalogue) ?? within(pools, catalogue, () => new BoundedMap(KEPT_SEEDS));
  return bySeed.get(spotSeed) ?? within(bySeed, spotSeed, () => new Map());
}

/** The price rounded to ten-thousandths of a dollar, in which EC2 quotes spot prices. */
function quoted(microUsd: number): number {
  return Math.max(100, Math.round(microUsd / 100) * 100);
}

/** Whether a type is sold in a zone. */
export function isOffered(state: AwsState, type: string, zone: string): boolean {
  return (
    state.catalogue.facts.has(type) &&
    state.zones.some((known) => known.ZoneName === zone) &&
    !state.notOffered.has(`${type}/${zone}`)
  );
}

/** The simulated call DescribeSpotPriceHistory: it returns the current price of each pool. */
export function spotPriceCalls(state: AwsState): Pick<Answers<Ec2Api>, "describeSpotPriceHistory"> {
  return {
    describeSpotPriceHistory(input) {
      const types = input.InstanceTypes ?? state.catalogue.names;
      const wanted = input.ProductDescriptions ?? PRODUCTS;
      // In a VPC both product descriptions have the same price, so each pool has one row.
      const ProductDescription = PRODUCTS.find((product) => wanted.includes(product));
      const offered: { readonly type: string; readonly zone: string; readonly pool: SpotPool }[] =
        [];
      for (const type of ProductDescription === undefined ? [] : types) {
        for (const { ZoneName: zone } of state.zones) {
          const pool = spotPool(state, type, zone);
          if (pool !== undefined) offered.push({ type, zone, pool });
        }
      }
      const kept = applyFilters(offered, input.Filters, SPOT_FILTERS, ({ type, zone }) => ({
        tags: undefined,
        fields: {
          "availability-zone": zone,
          "instance-type": type,
          "product-description": ProductDescription,
        },
      }));
      const page = pageOf(kept, input, { limit: HISTORY_LIMIT, defaultSize: HISTORY_LIMIT });
      const Timestamp = awsTime(state.clock.now());
      const prices = page.items.map(
        ({ type, zone, pool }): SpotPrice => ({
          InstanceType: type,
          AvailabilityZone: zone,
          ProductDescription: ProductDescription ?? "",
          SpotPrice: (pool.priceMicroUsd / 1e6).toFixed(6),
          Timestamp,
        }),
      );
      return { SpotPriceHistory: prices, ...page.next };
    },
  };
}

/** The simulated call GetProducts for EC2 instances: Linux, on demand. */
export function pricingCalls(state: AwsState): Answers<PricingApi> {
  return {
    getProducts(input) {
      const wanted = productsOf(state).filter(({ attributes }) =>
        (input.Filters ?? []).every((filter) =>
          filter.Field === "ServiceCode" || filter.Field === "serviceCode"
            ? filter.Value === input.ServiceCode
            : attributes[filter.Field] === filter.Value,
        ),
      );
      const page = pageOf(wanted, input, { limit: 100, defaultSize: 100 });
      return { PriceList: page.items.map(({ document }) => document), ...page.next };
    },
  };
}

interface Product {
  readonly attributes: Readonly<Record<string, string>>;
  /** The product as JSON text, as the API answers it. */
  readonly document: string;
}

/** Products by catalogue and then by region. On-demand prices never change. */
const products = new WeakMap<Catalogue, Map<string, readonly Product[]>>();

function productsOf({ catalogue, region }: AwsState): readonly Product[] {
  const known = products.get(catalogue) ?? new Map<string, readonly Product[]>();
  products.set(catalogue, known);
  return within(known, region, () =>
    catalogue.names.flatMap((name) => {
      const facts = catalogue.facts.get(name);
      const microUsd = facts?.onDemandMicroUsd;
      return facts === undefined || microUsd === undefined
        ? []
        : [productOf(region, facts, microUsd)];
    }),
  );
}
function productOf(region: string, facts: TypeFacts, microUsd: number): Product {
  const attributes = {
    productFamily: facts.bareMetal ? "Compute Instance (bare metal)" : "Compute Instance",
    regionCode: region,
    instanceType: facts.name,
    operatingSystem: "Linux",
    preInstalledSw: "NA",
    capacitystatus: "Used",
    tenancy: facts.bareMetal ? "Dedicated" : "Shared",
    marketoption: "OnDemand",
    vcpu: String(facts.vcpus),
    memory: `${facts.memoryMib / 1024} GiB`,
  };
  const { productFamily, ...rest } = attributes;
  const sku = facts.name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  const currency = region.startsWith("cn-") ? "CNY" : "USD";
  const dimension = {
    unit: "Hrs",
    rateCode: `${sku}.JRTCKXETXF.6YS6EN2CT7`,
    pricePerUnit: { [currency]: (microUsd / 1e6).toFixed(10) },
  };
  const document = JSON.stringify({
    product: { productFamily, sku, attributes: rest },
    serviceCode: "AmazonEC2",
    terms: {
      OnDemand: {
        [`${sku}.JRTCKXETXF`]: {
          sku,
          offerTermCode: "JRTCKXETXF",
          priceDimensions: { [dimension.rateCode]: dimension },
        },
      },
    },
  });
  return { attributes, document };
}

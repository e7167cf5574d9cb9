/**
 * Prices: on demand from the catalogue, spot a seeded 25 to 45 per cent of that for each type and
 * zone, stable for a seed until a fault moves them. The depth of a spot pool comes from the same seed: fleets that care for
 * capacity prefer deep pools.
 */
import { Random } from "../../../base/random.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { SpotPrice } from "../../../providers/aws/api/images-and-types.ts";
import type { PricingApi } from "../../../providers/aws/api/pricing.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState } from "../account/state.ts";
import { awsTime } from "../account/state.ts";

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
  /** 1 (shallow) to 10 (deep). */
  readonly depth: number;
}

/** Computed once a pool: a region has several thousand of them. */
const pools = new WeakMap<AwsState, Map<string, SpotPool>>();

/** The spot pool of a type in a zone; `undefined` for a type that is not sold as spot. */
export function spotPool(state: AwsState, type: string, zone: string): SpotPool | undefined {
  const facts = state.catalogue.facts.get(type);
  if (facts?.onDemandMicroUsd === undefined || !facts.usageClasses.includes("spot")) {
    return undefined;
  }
  if (!isOffered(state, type, zone)) return undefined;
  let known = pools.get(state);
  if (known === undefined) {
    known = new Map();
    pools.set(state, known);
  }
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

/** EC2 quotes spot prices in ten-thousandths of a dollar. */
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

/** DescribeSpotPriceHistory: the current price of each pool. */
export function spotPriceCalls(state: AwsState): Pick<Answers<Ec2Api>, "describeSpotPriceHistory"> {
  return {
    describeSpotPriceHistory(input) {
      const types = input.InstanceTypes ?? state.catalogue.names;
      const wanted = input.ProductDescriptions ?? PRODUCTS;
      // In a VPC both product descriptions mean the same pool, so each pool has one row.
      const ProductDescription = PRODUCTS.find((product) => wanted.includes(product));
      const prices: SpotPrice[] = [];
      for (const InstanceType of types) {
        for (const zone of state.zones) {
          const pool = spotPool(state, InstanceType, zone.ZoneName);
          if (pool === undefined || ProductDescription === undefined) continue;
          prices.push({
            InstanceType,
            AvailabilityZone: zone.ZoneName,
            ProductDescription,
            SpotPrice: (pool.priceMicroUsd / 1e6).toFixed(6),
            Timestamp: awsTime(state.clock.now()),
          });
        }
      }
      const kept = applyFilters(prices, input.Filters, SPOT_FILTERS, (price) => ({
        tags: undefined,
        fields: {
          "availability-zone": price.AvailabilityZone,
          "instance-type": price.InstanceType,
          "product-description": price.ProductDescription,
        },
      }));
      const page = pageOf(kept, input, { limit: HISTORY_LIMIT, defaultSize: HISTORY_LIMIT });
      return { SpotPriceHistory: page.items, ...page.next };
    },
  };
}

/** GetProducts for EC2 instances: Linux, on demand. */
export function pricingCalls(state: AwsState): Answers<PricingApi> {
  return {
    getProducts(input) {
      const documents: { readonly attributes: Record<string, string>; readonly text: string }[] =
        [];
      for (const name of state.catalogue.names) {
        const attributes = productAttributes(state, name);
        if (attributes === undefined) continue;
        const isWanted = (input.Filters ?? []).every((filter) =>
          filter.Field === "ServiceCode" || filter.Field === "serviceCode"
            ? filter.Value === input.ServiceCode
            : attributes[filter.Field] === filter.Value,
        );
        if (isWanted) documents.push({ attributes, text: name });
      }
      const page = pageOf(documents, input, { limit: 100, defaultSize: 100 });
      return {
        PriceList: page.items.map(({ attributes, text }) => priceList(state, text, attributes)),
        ...page.next,
      };
    },
  };
}

function productAttributes(state: AwsState, name: string): Record<string, string> | undefined {
  const facts = state.catalogue.facts.get(name);
  if (facts?.onDemandMicroUsd === undefined) return undefined;
  return {
    productFamily: facts.bareMetal ? "Compute Instance (bare metal)" : "Compute Instance",
    regionCode: state.region,
    instanceType: name,
    operatingSystem: "Linux",
    preInstalledSw: "NA",
    capacitystatus: "Used",
    tenancy: facts.bareMetal ? "Dedicated" : "Shared",
    marketoption: "OnDemand",
    vcpu: String(facts.vcpus),
    memory: `${facts.memoryMib / 1024} GiB`,
  };
}

function priceList(state: AwsState, name: string, attributes: Record<string, string>): string {
  const microUsd = state.catalogue.facts.get(name)?.onDemandMicroUsd ?? 0;
  const { productFamily, ...rest } = attributes;
  const sku = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  const currency = state.region.startsWith("cn-") ? "CNY" : "USD";
  const dimension = {
    unit: "Hrs",
    rateCode: `${sku}.JRTCKXETXF.6YS6EN2CT7`,
    pricePerUnit: { [currency]: (microUsd / 1e6).toFixed(10) },
  };
  return JSON.stringify({
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
}

/** Compares what a rule allows with the definition of the rule, for every small combination of counts. */
import { describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { exists, oneOf, type Requirement } from "../../scheduling/requirement.ts";
import {
  isAllowedIn,
  reachable,
  spreadOptions,
  type TopologyGroup,
  withLabelKeys,
} from "./topology-group.ts";

const ZONE = "topology.kubernetes.io/zone";
const ZONES = ["a", "b", "c", "d"];

interface Drawn {
  readonly group: TopologyGroup;
  readonly self: boolean;
  readonly podDomains: Requirement;
  readonly node: Requirement;
}

function drawn(random: Random, type: TopologyGroup["type"]): Drawn {
  const some = () => ZONES.filter(() => random.int(4) > 0);
  const counts = new Map(some().map((zone) => [zone, random.int(4)] as const));
  const hosts = new Map(some().map((zone) => [zone, new Set(["host"])] as const));
  const wanted = () => (random.int(2) === 0 ? exists(ZONE) : oneOf(ZONE, some()));
  const group = {
    ...{ index: 0, type, inverse: false, key: ZONE, counts, perHost: { size: 0 } },
    hosts: random.int(2) === 0 ? hosts : undefined,
    ...{
      maxSkew: 1 + random.int(2),
      minDomains: random.int(4),
      groupDomains: undefined,
      uncountedOn: [],
    },
  };
  const own = { self: random.int(2) === 0, podDomains: wanted(), node: wanted() };
  return { group: group as unknown as TopologyGroup, ...own };
}

const isIn = (zone: string, { complement, values }: Requirement) =>
  complement || values.includes(zone);

/** Whether the skew is kept in the zone, after the waiting pods and this pod were placed there. */
function keepsSkew({ group, self, podDomains }: Drawn, zone: string, waiting: number): boolean {
  const seen = [...group.counts].filter(
    ([one]) => isIn(one, podDomains) || group.hosts?.has(one) === true,
  );
  const after = seen.map(([one, count]) => (one === zone ? count + waiting : count));
  const least = seen.length < group.minDomains ? 0 : Math.min(...after);
  const here = (group.counts.get(zone) ?? 0) + waiting + (self ? 1 : 0);
  return here - least <= group.maxSkew;
}

describe("a topology spread over zones", () => {
  it("allows each zone within maxSkew, the emptiest first, then the cheapest", () => {
    const random = new Random("spread");
    for (let round = 0; round < 120; round++) {
      const one = drawn(random, "spread");
      const { group, self, podDomains, node } = one;
      const waiting = random.int(3);
      const prices = new Map(ZONES.map((zone) => [zone, random.int(3)]));
      const leastPrice = (_: string, zone: string) => prices.get(zone) ?? 0;
      const options = spreadOptions(group, self, podDomains, node, { leastPrice }, waiting);
      const count = (zone: string) => group.counts.get(zone) ?? 0;
      const wanted = [...group.counts.keys()]
        .filter((zone) => isIn(zone, node) && isIn(zone, podDomains))
        .filter((zone) => keepsSkew(one, zone, waiting))
        .sort()
        .sort((a, b) => count(a) - count(b) || leastPrice(ZONE, a) - leastPrice(ZONE, b));
      expect(options).toEqual(wanted.map((zone) => [zone]));
      expect(ZONES.filter((zone) => isAllowedIn(group, zone, self, podDomains))).toEqual(
        ZONES.filter(
          (zone) => group.counts.has(zone) && isIn(zone, podDomains) && keepsSkew(one, zone, 0),
        ),
      );
    }
  });
});

describe("zonal pod affinity and anti-affinity", () => {
  it("allow zones with matching pods, without them, or any zone for the first pod", () => {
    const random = new Random("affinity");
    for (let round = 0; round < 120; round++) {
      const [near, apart] = [drawn(random, "affinity"), drawn(random, "antiAffinity")];
      const isEmpty = [...near.group.counts.values()].every((count) => count === 0);
      const isNear = (zone: string) => {
        const count = near.group.counts.get(zone);
        const isOpen = count !== undefined && isIn(zone, near.podDomains);
        return isOpen && (count > 0 || (near.self && isEmpty));
      };
      const isFree = (zone: string) =>
        !isIn(zone, apart.podDomains) || (apart.group.counts.get(zone) ?? 0) === 0;
      const allowed = ({ group, self, podDomains }: Drawn) =>
        ZONES.filter((zone) => isAllowedIn(group, zone, self, podDomains));
      expect([allowed(near), allowed(apart)]).toEqual([ZONES.filter(isNear), ZONES.filter(isFree)]);
      const both = [...near.group.counts].filter(
        ([zone]) => isIn(zone, near.node) && isIn(zone, near.podDomains),
      );
      const named = (has: boolean) =>
        both
          .filter(([, count]) => count > 0 === has)
          .map(([zone]) => zone)
          .sort();
      expect(reachable(near.group, near.podDomains, near.node)).toEqual([
        named(true),
        named(false),
      ]);
    }
  });
});

describe("withLabelKeys", () => {
  it("adds each label that the pod has to the selector, once", () => {
    const of = (keys: readonly string[] | undefined, operator?: "In" | "NotIn") =>
      withLabelKeys({ matchLabels: { app: "web" } }, { app: "web", v: "2" }, keys, operator);
    const plain = { matchLabels: { app: "web" } };
    const byVersion = (operator: "In" | "NotIn") => [{ key: "v", operator, values: ["2"] }];
    expect([of(undefined), of([]), of(["none"])]).toEqual([plain, plain, plain]);
    expect(of(["v", "none"])).toEqual({ ...plain, matchExpressions: byVersion("In") });
    expect(of(["v"], "NotIn")).toEqual({ ...plain, matchExpressions: byVersion("NotIn") });
    expect(withLabelKeys(of(["v"]), { v: "2" }, ["v"])).toEqual(of(["v"]));
    expect(withLabelKeys(undefined, { v: "2" }, ["v"])).toBeUndefined();
  });
});

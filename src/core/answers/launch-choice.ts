/**
 * Explains why a node has its instance type: which types of its pool are cheaper now, and what ruled out each of them.
 * The state at launch is read from the claim: its requirements, requested resources and requested types.
 */
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import {
  formatResource,
  parseResources,
  type Resources,
  subtractResources,
} from "../../apis/resources.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { isCompatible } from "../cloudprovider/offerings.ts";
import type { Candidate } from "../disruption/candidates.ts";
import { allows, allowsAbsence, formatRequirement } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";

/**
 * What ruled out a type:
 * - `nodePool`: the NodePool does not allow it;
 * - `requirements`, `resources`: the claim does not allow it, or requests more than it has;
 * - `pods`: the pods that run on the node now use more than it has;
 * - `offerings`: the cloud has no capacity of it;
 * - `other`: the claim allowed it, but the cloud launched another type;
 * - `later`: it would be possible now, but was not requested at launch.
 */
export type RuledOutBy =
  | "nodePool"
  | "requirements"
  | "resources"
  | "pods"
  | "offerings"
  | "other"
  | "later";

/** A cheaper type that was not launched. */
export interface CheaperType {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicroUsdPerHour: number;
  readonly ruledOutBy: RuledOutBy;
  readonly says: string;
}

/** The node's instance type, and why cheaper types were not launched. */
export interface LaunchChoice {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** The price of the node's instance type. 0: the pool no longer offers this type. */
  readonly priceMicroUsdPerHour: number;
  /** How many instance types the claim requested. */
  readonly askedFor: number;
  /** The number of cheaper types of the pool, by the reason that ruled them out. */
  readonly cheaper: Readonly<Partial<Record<RuledOutBy, number>>>;
  /**
   * At most five cheaper types. They are sorted by reason in the order of {@link MOST_SURPRISING_FIRST}, then by price,
   * the most expensive first.
   */
  readonly nearest: readonly CheaperType[];
}

/** The reasons in the order in which types are listed: the most surprising ones come first. */
const MOST_SURPRISING_FIRST: readonly RuledOutBy[] = [
  "later",
  "other",
  "offerings",
  "pods",
  "resources",
  "requirements",
  "nodePool",
];

const MOST_NEAREST = 5;

/** Compares the node with all types of its pool, at current prices. */
export function launchChoice(
  { claim, node, pool, zone, capacityType, priceMicroUsd }: Candidate,
  types: readonly InstanceType[],
): LaunchChoice {
  const required = Requirements.fromSpecs(claim.spec.requirements);
  const asked = required.get(INSTANCE_TYPE_LABEL_KEY);
  const facts: Facts = {
    pool: Requirements.fromSpecs(pool.requirements),
    claim: required.without(new Set([INSTANCE_TYPE_LABEL_KEY])),
    asked: new Set(asked.complement ? [] : asked.values),
    requested: requestsOf(claim),
    used: subtractResources(node.allocatable, node.available),
  };
  const cheaper = types
    .flatMap((type) => {
      const less = type.offerings.filter(
        (one) => one.priceMicroUsd < priceMicroUsd && !isUnpriced(one),
      );
      if (less.length === 0) return [];
      const likely = fitting(less, facts);
      const first = cheapest(likely.length === 0 ? less : likely);
      return [{ type, first, ...ruledOut(type, less, facts) }];
    })
    .sort(
      (a, b) =>
        MOST_SURPRISING_FIRST.indexOf(a.by) - MOST_SURPRISING_FIRST.indexOf(b.by) ||
        b.first.priceMicroUsd - a.first.priceMicroUsd ||
        (a.type.name < b.type.name ? -1 : 1),
    );
  const counts: Partial<Record<RuledOutBy, number>> = {};
  for (const { by } of cheaper) counts[by] = (counts[by] ?? 0) + 1;
  return {
    instanceType: node.labels[INSTANCE_TYPE_LABEL_KEY] ?? "",
    zone,
    capacityType,
    priceMicroUsdPerHour: priceMicroUsd,
    askedFor: facts.asked.size,
    cheaper: counts,
    nearest: cheaper.slice(0, MOST_NEAREST).map(({ type, first, by, says }) => ({
      instanceType: type.name,
      zone: first.zone,
      capacityType: first.capacityType,
      priceMicroUsdPerHour: first.priceMicroUsd,
      ruledOutBy: by,
      says,
    })),
  };
}

/** Whether the offering has no known price, because it is unavailable. Then it is not known whether it is cheaper. */
function isUnpriced({ available, priceMicroUsd }: Offering): boolean {
  return !available && priceMicroUsd === 0;
}

/** What the node's pool and claim demand, and what its pods use. */
interface Facts {
  readonly pool: Requirements;
  readonly claim: Requirements;
  /** The instance types that the claim requested. */
  readonly asked: ReadonlySet<string>;
  /** The resources that the claim requested. */
  readonly requested: Resources;
  /** The resources that the pods of the node request now. */
  readonly used: Resources;
}

function requestsOf({ spec }: NodeClaim): Resources {
  const { resources } = spec as { resources?: { requests?: Record<string, string> } };
  return parseResources(resources?.requests);
}

/** The first reason why the type was not launched. `other` or `later`: no rule excludes it. */
function ruledOut(
  type: InstanceType,
  offerings: readonly Offering[],
  facts: Facts,
): { readonly by: RuledOutBy; readonly says: string } {
  const { pool, claim, asked, requested, used } = facts;
  const unlike = typeConflict(type, pool);
  if (unlike !== undefined) return { by: "nodePool", says: `the NodePool requires ${unlike}` };
  const unasked = typeConflict(type, claim);
  if (unasked !== undefined)
    return { by: "requirements", says: `the NodeClaim requires ${unasked}` };
  const allocatable = subtractResources(type.capacity, type.overhead);
  const small = lacking(requested, allocatable);
  if (small !== undefined) return { by: "resources", says: `the NodeClaim requests ${small}` };
  const full = lacking(used, allocatable);
  if (full !== undefined) return { by: "pods", says: `its pods now use ${full}` };
  if (!offerings.some((one) => isCompatible(one, pool)))
    return { by: "nodePool", says: `not cheaper with ${placesOf(pool)}, as the NodePool requires` };
  const likely = fitting(offerings, facts);
  if (likely.length === 0)
    return {
      by: "requirements",
      says: `not cheaper with ${placesOf(claim)}, as the NodeClaim requires`,
    };
  if (!likely.some(({ available }) => available))
    return { by: "offerings", says: "the cloud has no capacity of this type at the moment" };
  return asked.has(type.name)
    ? { by: "other", says: "Karpenter requested this type too; the cloud launched another" }
    : { by: "later", says: "possible now, but not requested at the launch" };
}

function fitting(offerings: readonly Offering[], { pool, claim }: Facts): readonly Offering[] {
  return offerings.filter((one) => isCompatible(one, pool) && isCompatible(one, claim));
}

function cheapest(offerings: readonly Offering[]): Offering {
  return offerings.reduce((best, one) => (one.priceMicroUsd < best.priceMicroUsd ? one : best));
}

function placesOf(requirements: Requirements): string {
  const keys = [TOPOLOGY_ZONE_LABEL_KEY, CAPACITY_TYPE_LABEL_KEY];
  const said = keys.filter((key) => requirements.has(key));
  return said.map((key) => formatRequirement(requirements.get(key))).join(", ");
}

/** The first requirement that no node of this type can satisfy. */
function typeConflict(type: InstanceType, requirements: Requirements): string | undefined {
  for (const requirement of requirements.all()) {
    const { key } = requirement;
    const values = type.labels[key];
    if (values === undefined) continue;
    const met =
      values.length === 0
        ? allowsAbsence(requirement)
        : values.some((value) => allows(requirement, value));
    if (!met) return formatRequirement(requirement);
  }
  return undefined;
}

/** The first resource of which the type has too little, as text: `3 of cpu; this type has 1.9`. */
function lacking(wanted: Resources, has: Resources): string | undefined {
  for (const name of Object.keys(wanted).sort()) {
    const [amount, room] = [wanted[name] ?? 0, has[name] ?? 0];
    if (amount <= room) continue;
    return `${formatResource(name, amount)} of ${name}; this type has ${formatResource(name, room)}`;
  }
  return undefined;
}

/**
 * Keeps a plan within the quotas of the cloud account, which bound what all NodePools launch together. Each offering
 * names the quota that counts it. New nodes use up quotas in the order of their pods' priority. Otherwise a large batch
 * would create NodeClaims whose launch the cloud refuses.
 */
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import { usableOfferings } from "../../cloudprovider/offerings.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { byKey, priorityOf } from "../batch/queue.ts";
import type { PlannedClaim, SchedulingResult, UnschedulablePod } from "../result.ts";

/** How much an offering uses of its quota. Undefined: no quota counts the offering. */
type Share = Offering["quota"];

/**
 * Removes the claims for whose offerings no quota has room. Their pods wait for a later pass, which knows what was
 * launched. `room`: quota → units that may still be launched.
 */
export function* withinQuotas<R extends SchedulingResult>(
  plan: R,
  room: ReadonlyMap<string, number> | undefined,
): Steps<R> {
  if (room === undefined || room.size === 0) return plan;
  const left = new QuotaRoom(room);
  const refused = new Set<PlannedClaim>();
  const waiting: UnschedulablePod[] = [];
  yield* eachInSteps(mostImportantFirst(plan.newClaims), (claim) => {
    const message = left.take([claim]);
    if (message === undefined) return;
    refused.add(claim);
    for (const pod of claim.pods) waiting.push({ pod, message, pools: [] });
  });
  if (refused.size === 0) return plan;
  return {
    ...plan,
    newClaims: plan.newClaims.filter((one) => !refused.has(one)),
    unschedulable: [...plan.unschedulable, ...waiting].sort(byKey),
  };
}

/** The units that are left of the quotas while new nodes are added one after the other. */
export class QuotaRoom {
  #left: ReadonlyMap<string, number>;
  readonly #shares = new Shares();

  /** `room`: quota → units that may still be launched. Quotas that the map lacks are unlimited. */
  constructor(room: ReadonlyMap<string, number> = new Map()) {
    this.#left = room;
  }

  /** Quota → units that are left. */
  get left(): ReadonlyMap<string, number> {
    return this.#left;
  }

  /** Subtracts all these claims from the quotas, or none of them. Returns why not. Undefined: they were subtracted. */
  take(claims: readonly PlannedClaim[]): string | undefined {
    if (this.#left.size === 0) return undefined;
    const left = new Map(this.#left);
    for (const claim of claims) {
      const full = take(this.#shares.of(claim), left);
      if (full.length > 0)
        return `other new nodes need what is left of ${full.length === 1 ? "quota" : "quotas"} ${full.join(", ")}`;
    }
    this.#left = left;
    return undefined;
  }
}

/** The shares of a claim's offerings, cheapest type first. Cached by the claim's lists, which equal claims share. */
class Shares {
  readonly #known = new Map<
    PlannedClaim["instanceTypes"],
    Map<PlannedClaim["requirements"], readonly Share[]>
  >();

  of({ instanceTypes, requirements }: PlannedClaim): readonly Share[] {
    const ofTypes = within(this.#known, instanceTypes, () => new Map());
    return within(ofTypes, requirements, () => {
      const wanted = Requirements.fromSpecs(requirements);
      const seen = new Map<string, Share>();
      for (const type of instanceTypes)
        for (const { quota } of usableOfferings(type, wanted).sort(cheapestFirst))
          within(seen, quota === undefined ? "" : `${quota.id} ${quota.units}`, () => quota);
      return [...seen.values()];
    });
  }
}

/**
 * Subtracts the first share for which its quota has room. Returns the full quotas, sorted; empty if a share was
 * subtracted or no quota counts the claim.
 */
function take(shares: readonly Share[], left: Map<string, number>): readonly string[] {
  const full = new Set<string>();
  for (const share of shares) {
    const room = share === undefined ? undefined : left.get(share.id);
    if (share === undefined || room === undefined) return [];
    if (room >= share.units) {
      left.set(share.id, room - share.units);
      return [];
    }
    full.add(share.id);
  }
  return [...full].sort();
}

function cheapestFirst(a: Offering, b: Offering): number {
  return a.priceMicroUsd - b.priceMicroUsd;
}

function mostImportantFirst(claims: readonly PlannedClaim[]): readonly PlannedClaim[] {
  const highest = ({ pods }: PlannedClaim) =>
    pods.reduce((most, pod) => Math.max(most, priorityOf(pod)), Number.NEGATIVE_INFINITY);
  return claims
    .map((claim) => ({ claim, priority: highest(claim) }))
    .sort((a, b) => (a.priority === b.priority ? 0 : b.priority - a.priority))
    .map(({ claim }) => claim);
}

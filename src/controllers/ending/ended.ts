/**
 * The result of an irreversible deletion, the facts that every such deletion needs, and the report of a doubt. A doubt
 * (core/safety/judge.ts) postpones a deletion. It is reported as an event on the object, as a metric, and as a log line
 * when it is new.
 */

import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { CLAIM_KINDS, claimKind } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { MetricSpec } from "../../base/metrics.ts";
import type { Act, NamedAct, ViewName } from "../../core/safety/acts.ts";
import type { Doubt, EndFacts } from "../../core/safety/judge.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import type { ViewState } from "../../kube/mirror/mirror.ts";
import { nativeClaims } from "../mirrors.ts";
import type { World } from "../world.ts";

/**
 * The result of a deletion or termination.
 * - `ended`: this call began the deletion or termination.
 * - `gone`: the object is gone, is being deleted already, or another object has its name.
 * - `changed`: the objects on the API server give no reason for the deletion any more.
 * - `held`: a doubt forbids it now and was reported. Try again after {@link HELD_RETRY_MS}.
 */
export type Ended = "ended" | "gone" | "changed" | "held";

/** Milliseconds after which a postponed termination is tried again. */
export const HELD_RETRY_MS = 60_000;

/** Metrics of the safety checks before a node or instance is terminated. */
export const ENDING_METRICS: readonly MetricSpec[] = [
  {
    name: "ends_held_total",
    type: "counter",
    help: "Number of times that ending a nodeclaim or instance was put off because the facts were in doubt. karpenter-ts only.",
    labels: ["act", "doubt"],
  },
  {
    name: "involuntary_ends_total",
    type: "counter",
    help: "Number of nodes terminated or rebooted without a user's request, as the brake counts them. karpenter-ts only.",
    labels: ["act"],
  },
  {
    name: "involuntary_ends_stopped",
    type: "gauge",
    help: "1 while the brake stops the termination of nodes that no user requested. karpenter-ts only.",
    labels: [],
  },
];

/**
 * The facts that every safety check needs: which local copies (mirrors) are not up to date, the time, and the number of
 * nodes.
 */
export function commonFacts(
  world: World,
  act: Act,
  claim: NodeClaim,
): Omit<EndFacts, "isProvenGone"> {
  const { name } = claim.metadata;
  const providerId = claim.status?.providerID ?? "";
  return {
    staleViews: act.views.filter((view) => statesOf(world, view, claim).some(isStale)),
    isSetBack: act.views.some((view) => statesOf(world, view, claim).includes("setBack")),
    clockSkewMs: world.clockSkewMs(),
    fleet: fleetSize(world),
    nowMs: world.clock.elapsedMs(),
    name: name || providerId,
    machine: providerId || name,
  };
}

/** The number of claims of all API versions, which is the number of Karpenter's nodes. */
export function fleetSize(world: Pick<World, "mirrors">): number {
  return CLAIM_KINDS.reduce((sum, kind) => sum + nativeClaims(world, kind).size, 0);
}

function statesOf({ mirrors }: World, view: ViewName, claim: NodeClaim): readonly ViewState[] {
  return kindsOf(view, claim).map((kind) => mirrors.viewOf(kind));
}

function isStale(state: ViewState): boolean {
  return state !== "current";
}

/**
 * The kinds that the view contains. Claim kinds of other API versions are left out, because they may not be installed.
 */
function kindsOf(view: ViewName, claim: NodeClaim): readonly Kind[] {
  if (view === "pods") return [POD as Kind];
  if (view === "nodes") return [NODE as Kind];
  const kind = claimKind(claim);
  if (view === "claims") return [kind];
  return [POOL_KINDS[CLAIM_KINDS.indexOf(kind)] as Kind];
}

/** Publishes the event that a termination is postponed. */
export function tellHeld(
  world: World,
  { name, act, doubt }: { readonly name: string; readonly act: NamedAct; readonly doubt: Doubt },
  objects: readonly KubeObject[],
): "held" {
  world.metrics.count("ends_held_total", { act: act.name, doubt: doubt.code });
  world.events.publish(...objects.map((object) => endHeld(object, act, doubt)));
  const { what, why, done = "ended" } = act;
  world.log.warn(`not ${done}, there is a doubt`, { name, what, why, doubt: doubt.message });
  return "held";
}

export function endHeld(
  object: KubeObject,
  { what, why, done = "ended" }: Pick<Act, "what" | "why" | "done">,
  { code, message }: Doubt,
): EventToPublish {
  return {
    object,
    type: "Warning",
    reason: "EndHeld",
    message: `The ${what} is not ${done} although ${why}. ${message}`,
    dedupeValues: [object.metadata.name, code],
  };
}

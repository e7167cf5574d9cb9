/**
 * The result of `karpenter plan`, as a data format for other programs. docs/reference/plan.md describes it and has
 * its JSON schema.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { keyOf } from "../../apis/meta.ts";
import { formatResources } from "../../apis/resources.ts";
import { counted } from "../../base/counted.ts";
import { atOnce } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import { usd } from "../../core/answers/command-answer.ts";
import type { NearMiss, Remedy } from "../../core/answers/fixes/remedy.ts";
import { launchStop } from "../../core/answers/launch-stop.ts";
import type { PlayedPasses } from "../../core/answers/planning-passes.ts";
import { withoutBufferPods } from "../../core/buffers/feedback.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import { type RoomKept, roomAmong } from "../../core/buffers/room.ts";
import type { PlannedBatch } from "../../core/planner/plan-batch.ts";
import type { PlannerRecord } from "../../core/planner/record.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { deviceFix } from "./device-fix.ts";
import { headroomOf, type PlannedHeadroom } from "./headroom.ts";
import { type PlannedEdit, plannedEdit } from "./planned-edit.ts";
import { type Risk, risksOf } from "./risks.ts";
import { volumeFix } from "./volume-fix.ts";
import { VolumePlaceFixes } from "./volume-place.ts";

export interface Plan {
  readonly newNodeClaims: readonly PlannedNode[];
  /** Existing nodes that take pods. Nodes that only keep room are in `headroom`. */
  readonly existingNodes: readonly { readonly node: string; readonly pods: readonly string[] }[];
  /** Room for CapacityBuffers, by buffer. Absent: the input has none. The pods of buffers are counted only here. */
  readonly headroom?: readonly PlannedHeadroom[];
  readonly unschedulable: readonly Unplaced[];
  readonly totals: {
    readonly pods: number;
    readonly placed: number;
    /** Number of new nodes. */
    readonly nodes: number;
    readonly priceMicroUsdPerHour: number;
    /** Cost of the new nodes of each pool, by name. */
    readonly nodePools: readonly PoolTotal[];
    /** A proven lower bound for the price of any plan for these pods. Only with `--lower-bound`. */
    readonly lowerBoundMicroUsdPerHour?: number;
    /** How much the limits of these NodePools increase the price. Absent: not at all. */
    readonly limits?: {
      readonly nodePools: readonly string[];
      readonly priceMicroUsdPerHour: number;
    };
  };
  /** Which plan source made the plan, and why the others did not. Absent with `--planner greedy`. */
  readonly planner?: PlannerRecord;
  /** Number of passes that placed pods. A later pass sees what earlier ones launched. */
  readonly passes: number;
  /** Risks that the price does not show. */
  readonly risks: readonly Risk[];
  readonly timings: { readonly parseMs: number; readonly solveMs: number };
}

/** The new nodes of a pool and their cost. */
export interface PoolTotal {
  readonly nodePool: string;
  readonly nodes: number;
  readonly pods: number;
  readonly priceMicroUsdPerHour: number;
}

export interface PlannedNode {
  readonly nodePool: string;
  readonly requirements: readonly RequirementSpec[];
  /** Names of the possible instance types, cheapest first. */
  readonly instanceTypes: readonly string[];
  readonly pods: readonly string[];
  /** Room on the node for CapacityBuffers. Absent: none. */
  readonly headroom?: readonly RoomKept[];
  /** Requests of pods and daemons, as Kubernetes quantities. */
  readonly requests: Readonly<Record<string, string>>;
  readonly cheapest: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
    readonly priceMicroUsdPerHour: number;
  };
}

export interface Unplaced {
  readonly pod: string;
  readonly reason: string;
  readonly nodePools: readonly {
    readonly nodePool: string;
    /** Number of rejected instance types by reason. */
    readonly rejected: Readonly<Record<string, number>>;
  }[];
  /** The place that fits best. */
  readonly nearest?: {
    readonly nodePool: string;
    readonly instanceType?: string;
    readonly missing: readonly string[];
  };
  /** The smallest change that places the pod. It was verified by planning with it. */
  readonly fix?: { readonly text: string; readonly edits: readonly PlannedEdit[] };
}

/** Data that is not in the plan itself. */
export interface Extras {
  /** The fix of each pod, by pod key. */
  readonly remedies?: ReadonlyMap<string, Remedy>;
  readonly lowerBoundMicroUsd?: number;
  /** The number of planning passes. Default: 1. */
  readonly passes?: number;
  /** The input of the plan, for risks and fixes of volumes and resource claims. */
  readonly input?: SchedulingInput;
  /**
   * Whether to look for fixes for pods that planning refuses because of volumes or resource claims. Default: if there
   * is an `input`.
   */
  readonly objectFixes?: boolean;
}

export function planOf(
  result: PlannedBatch,
  pods: number,
  timings: Plan["timings"],
  { remedies, lowerBoundMicroUsd, passes = 1, input, objectFixes = true }: Extras = {},
): Plan {
  const { limitCost, planner } = result;
  const stored = withoutBufferPods(result);
  const headroom = headroomOf(result);
  const fixes =
    input !== undefined && objectFixes ? { input, places: new VolumePlaceFixes(input) } : undefined;
  const count = pods - headroom.reduce((sum, one) => sum + one.pods, 0);
  const newNodeClaims = result.newClaims.map(
    ({ pool, requirements, instanceTypes, pods: placed, requests, cheapest }): PlannedNode => ({
      nodePool: pool.name,
      requirements,
      instanceTypes: instanceTypes.map(({ name }) => name),
      pods: placed.filter((pod) => !isBufferPod(pod)).map(keyOf),
      ...(placed.some(isBufferPod) ? { headroom: roomAmong(placed) } : {}),
      requests: formatResources(requests),
      cheapest: {
        instanceType: cheapest.instanceType,
        zone: cheapest.zone,
        capacityType: cheapest.capacityType,
        priceMicroUsdPerHour: cheapest.priceMicroUsd,
      },
    }),
  );
  return {
    newNodeClaims,
    existingNodes: usedNodes(result),
    ...(headroom.length === 0 ? {} : { headroom }),
    unschedulable: stored.unschedulable.map(({ pod, message, pools, isCreated }) => ({
      pod: keyOf(pod),
      reason: message,
      nodePools: (isCreated === false ? [] : pools).map(({ poolId, rejected }) => ({
        nodePool: nameOf(poolId),
        rejected: rejected as Record<string, number>,
      })),
      ...(fixes === undefined ? {} : objectFixOf(pod, pools.length > 0, fixes)),
      ...remedyOf(keyOf(pod), remedies?.get(keyOf(pod))),
    })),
    totals: {
      pods: count,
      placed: count - stored.unschedulable.length,
      nodes: newNodeClaims.length,
      priceMicroUsdPerHour: newNodeClaims.reduce(
        (sum, { cheapest }) => sum + cheapest.priceMicroUsdPerHour,
        0,
      ),
      nodePools: poolTotals(newNodeClaims),
      ...(lowerBoundMicroUsd === undefined
        ? {}
        : { lowerBoundMicroUsdPerHour: lowerBoundMicroUsd }),
      ...(limitCost === undefined
        ? {}
        : {
            limits: {
              nodePools: limitCost.poolIds.map(nameOf),
              priceMicroUsdPerHour: limitCost.microUsdPerHour,
            },
          }),
    },
    ...(planner === undefined ? {} : { planner }),
    passes,
    risks: input === undefined ? [] : risksOf(input, stored),
    timings,
  };
}

/** Notes about the number of passes, if there was more than one or more would follow. */
export function passNotes({ passes, isSettled, createdAtOnce = 0 }: PlayedPasses): string[] {
  const joined =
    createdAtOnce === 0
      ? []
      : [
          `${counted(createdAtOnce, "pod")} of StatefulSets ${createdAtOnce === 1 ? "was" : "were"} planned at once, as there were too many to plan one after another; in a cluster each comes once the one before it is ready, which may need more nodes`,
        ];
  if (!isSettled)
    return [
      ...joined,
      `stopped after ${passes} passes, each of which still placed pods; Karpenter goes on until nothing changes, so the pods without a place here may get one`,
    ];
  if (passes === 1) return joined;
  return [
    ...joined,
    `planned in ${passes} passes, as Karpenter does: a later pass sees what the earlier ones launched`,
  ];
}

/** Notes about what the limits of NodePools cost. None if they cost nothing. */
export function limitNotes({ totals: { limits } }: Plan): string[] {
  if (limits === undefined) return [];
  const price = usd(limits.priceMicroUsdPerHour);
  return [
    `limits of ${limits.nodePools.join(", ")} cost ${price} an hour: without them the same pods have cheaper nodes`,
  ];
}

/** Notes about NodePools that launch nothing because of their own requirements, whatever the pods are. */
export function poolNotes(
  {
    withoutTypes = [],
    withTooFewTypes = [],
    newClaims,
  }: Pick<SchedulingResult, "withoutTypes" | "withTooFewTypes" | "newClaims">,
  input: SchedulingInput,
): string[] {
  // A pool may launch into its reservations in the first pass and have nothing left for the last one.
  const launched = new Set(newClaims.map(({ pool }) => pool.id));
  return [...withoutTypes, ...withTooFewTypes].flatMap((id) => {
    const own = launched.has(id) ? undefined : input.pools.find(({ pool }) => pool.id === id);
    const why = own && atOnce(launchStop(own, input));
    return why === undefined ? [] : [`${id}: passed over, ${why}`];
  });
}

function poolTotals(claims: readonly PlannedNode[]): PoolTotal[] {
  const names = [...new Set(claims.map(({ nodePool }) => nodePool))].sort(compareText);
  return names.map((nodePool) => {
    const own = claims.filter((one) => one.nodePool === nodePool);
    return {
      nodePool,
      nodes: own.length,
      pods: own.reduce((sum, { pods }) => sum + pods.length, 0),
      priceMicroUsdPerHour: own.reduce(
        (sum, { cheapest }) => sum + cheapest.priceMicroUsdPerHour,
        0,
      ),
    };
  });
}

/** The existing nodes that take pods, without those of CapacityBuffers. */
function usedNodes({ existing }: PlannedBatch): Plan["existingNodes"] {
  return existing.flatMap(({ nodeName, pods }) => {
    const own = pods.filter((pod) => !isBufferPod(pod));
    return own.length === 0 ? [] : [{ node: nodeName, pods: own.map(keyOf) }];
  });
}

/**
 * The fix of the pod's resource claims or volumes. If planning asked no NodePool about the pod, one of its volumes is
 * incomplete. Otherwise a volume may be at a place that nothing has.
 */
function objectFixOf(
  pod: Pod,
  wasAsked: boolean,
  { places, input }: { readonly places: VolumePlaceFixes; readonly input: SchedulingInput },
): Pick<Unplaced, "fix"> {
  const fix =
    (input.devices && deviceFix(pod, input.devices)) ??
    (wasAsked ? places.of(pod) : volumeFix(pod, input.volumes));
  return fix === undefined ? {} : { fix };
}

function nameOf(poolId: string): string {
  return poolId.slice(poolId.indexOf("/") + 1);
}

function remedyOf(pod: string, remedy: Remedy | undefined): Pick<Unplaced, "nearest" | "fix"> {
  const { nearest, fix } = remedy ?? {};
  return {
    ...(nearest === undefined ? {} : { nearest: nearestOf(nearest) }),
    ...(fix === undefined
      ? {}
      : { fix: { text: fix.text, edits: fix.edits.map((edit) => plannedEdit(edit, pod)) } }),
  };
}

function nearestOf({ poolId, instanceType, missing }: NearMiss): NonNullable<Unplaced["nearest"]> {
  return {
    nodePool: nameOf(poolId),
    ...(instanceType === undefined ? {} : { instanceType }),
    missing,
  };
}

/**
 * The result of `karpenter plan` as a contract that other programs read: names, amounts and prices,
 * no objects of ours. Described, with its JSON schema, in docs/reference/plan.md.
 */
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { keyOf } from "../../apis/meta.ts";
import { formatResources } from "../../apis/resources.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";

export interface Plan {
  readonly newNodeClaims: readonly PlannedNode[];
  readonly existingNodes: readonly { readonly node: string; readonly pods: readonly string[] }[];
  readonly unschedulable: readonly Unplaced[];
  readonly totals: {
    readonly pods: number;
    readonly placed: number;
    /** New ones. */
    readonly nodes: number;
    readonly priceMicroUsdPerHour: number;
  };
  readonly timings: { readonly parseMs: number; readonly solveMs: number };
}

export interface PlannedNode {
  readonly nodePool: string;
  readonly requirements: readonly RequirementSpec[];
  /** Names, cheapest first. */
  readonly instanceTypes: readonly string[];
  readonly pods: readonly string[];
  /** Kubernetes quantities: pods and daemons. */
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
    /** Reason → how many instance types fell by it. */
    readonly rejected: Readonly<Record<string, number>>;
  }[];
}

export function planOf(result: SchedulingResult, pods: number, timings: Plan["timings"]): Plan {
  const newNodeClaims = result.newClaims.map(
    ({ pool, requirements, instanceTypes, pods: placed, requests, cheapest }): PlannedNode => ({
      nodePool: pool.name,
      requirements,
      instanceTypes: instanceTypes.map(({ name }) => name),
      pods: placed.map(keyOf),
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
    existingNodes: result.existing.map(({ nodeName, pods: placed }) => ({
      node: nodeName,
      pods: placed.map(keyOf),
    })),
    unschedulable: result.unschedulable.map(({ pod, message, pools }) => ({
      pod: keyOf(pod),
      reason: message,
      nodePools: pools.map(({ poolId, rejected }) => ({
        nodePool: poolId.slice(poolId.indexOf("/") + 1),
        rejected: rejected as Record<string, number>,
      })),
    })),
    totals: {
      pods,
      placed: pods - result.unschedulable.length,
      nodes: newNodeClaims.length,
      priceMicroUsdPerHour: newNodeClaims.reduce(
        (sum, { cheapest }) => sum + cheapest.priceMicroUsdPerHour,
        0,
      ),
    },
    timings,
  };
}

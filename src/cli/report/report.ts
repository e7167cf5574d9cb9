/**
 * The content of a report in any format: figures, nodes with pods, pods without a place, notes. Also the report of
 * a plan.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { keyOf } from "../../apis/meta.ts";
import { type Resources, subtractResources } from "../../apis/resources.ts";
import { counted, grouped } from "../../base/counted.ts";
import { compareText } from "../../base/text-order.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import type { PlannedClaim, SchedulingResult } from "../../core/provisioning/result.ts";
import { headroomLines } from "../plan/headroom-text.ts";
import type { Plan } from "../plan/plan.ts";
import { nearestText, unplacedGroups } from "../plan/plan-text.ts";
import { percent, perMonth } from "../program/figures.ts";

export interface Figure {
  readonly label: string;
  readonly value: string;
}

export interface ReportPod {
  /** The pod as `namespace/name`. */
  readonly name: string;
  /** Share of the node's CPU that the pod requests, 0 to 1. */
  readonly cpu: number;
}

export interface ReportNode {
  /** The node's name. Absent: the node does not exist yet. */
  readonly name?: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** The price in micro-dollars an hour. 0: it is not known. */
  readonly priceMicroUsdPerHour: number;
  /** Share of allocatable CPU that is requested, 0 to 1, including daemons. */
  readonly cpu: number;
  readonly memory: number;
  /** The pods by size, largest first. */
  readonly pods: readonly ReportPod[];
}

export interface ReportPool {
  readonly name: string;
  readonly priceMicroUsdPerHour: number;
  readonly nodes: readonly ReportNode[];
}

/** Nodes by NodePool, as one picture. */
export interface ReportMap {
  /** The title of the map. Absent: there is only one map. */
  readonly title?: string;
  /** Pools by name. */
  readonly pools: readonly ReportPool[];
  /** The text to show if there are no nodes. */
  readonly without: string;
}

/** Lines under a heading. */
export interface ReportSection {
  readonly title: string;
  readonly lines: readonly string[];
}

/** Pods without a place for the same reason. */
export interface ReportUnplaced {
  /** One sentence for each NodePool. */
  readonly reasons: readonly string[];
  readonly pods: readonly string[];
  /** The place that fits best, and what it lacks. Absent: none is known. */
  readonly nearest?: string;
  /** The smallest change that gives them a place; absent: none is known. */
  readonly fix?: string;
}

export interface Report {
  readonly title: string;
  /** The answer in one sentence. Absent: the figures are enough. */
  readonly says?: string;
  readonly figures: readonly Figure[];
  readonly maps: readonly ReportMap[];
  readonly unplaced: readonly ReportUnplaced[];
  /** Sections without lines are left out. */
  readonly sections: readonly ReportSection[];
}

/** The report of a plan. `result` is the scheduling result of the plan. */
export function planReport(plan: Plan, result: SchedulingResult, notes: readonly string[]): Report {
  const { totals } = plan;
  const price = totals.priceMicroUsdPerHour;
  const bound = totals.lowerBoundMicroUsdPerHour;
  return {
    title: "Karpenter plan",
    figures: [
      { label: "Pods placed", value: `${grouped(totals.placed)} of ${grouped(totals.pods)}` },
      { label: "New nodes", value: grouped(totals.nodes) },
      { label: "Cost per hour", value: usd(price) },
      { label: "Cost per month", value: perMonth(price) },
      ...(bound === undefined
        ? []
        : [{ label: "No plan costs less than", value: `${usd(bound)}/h` }]),
      ...roomFigures(plan.headroom),
    ],
    maps: [{ pools: poolsOf(result.newClaims), without: "No new node is needed." }],
    unplaced: unplacedOf(plan),
    sections: [
      { title: "Headroom", lines: headroomLines(plan) },
      { title: "Risks", lines: plan.risks.map(({ text }) => text) },
      { title: "Notes", lines: notes },
    ],
  };
}

/** The room of all CapacityBuffers together. Empty if there are none. */
export function roomFigures(
  rooms: readonly { readonly pods: number; readonly placed: number }[] = [],
): readonly Figure[] {
  if (rooms.length === 0) return [];
  const sum = (of: "pods" | "placed") => rooms.reduce((all, one) => all + one[of], 0);
  const value = `${grouped(sum("placed"))} of ${grouped(sum("pods"))}`;
  return [{ label: "Buffer pods with room", value }];
}

/** One line of text about a node. */
export function nodeText({ instanceType, zone, capacityType, pods, ...node }: ReportNode): string {
  const price = nodePrice(node);
  const shares = `CPU ${percent(node.cpu)}, memory ${percent(node.memory)}`;
  const name = node.name === undefined ? "" : `${node.name}: `;
  return `${name}${instanceType}, ${capacityType}, ${zone}, ${price}, ${counted(pods.length, "pod")}, ${shares}`;
}

/** What the node costs, in words. */
function nodePrice({ priceMicroUsdPerHour }: Pick<ReportNode, "priceMicroUsdPerHour">): string {
  return priceMicroUsdPerHour === 0 ? "price not known" : `${usd(priceMicroUsdPerHour)}/h`;
}

function poolsOf(claims: readonly PlannedClaim[]): readonly ReportPool[] {
  return byPoolName(claims.map((claim) => [claim.pool.name, nodeOf(claim)]));
}

/** Groups nodes by the name of their NodePool. */
export function byPoolName(
  nodes: readonly (readonly [pool: string, node: ReportNode])[],
): readonly ReportPool[] {
  const byPool = new Map<string, ReportNode[]>();
  for (const [pool, node] of nodes) {
    const own = byPool.get(pool);
    if (own === undefined) byPool.set(pool, [node]);
    else own.push(node);
  }
  return [...byPool]
    .map(([name, nodes]) => ({
      name,
      nodes,
      priceMicroUsdPerHour: nodes.reduce((sum, one) => sum + one.priceMicroUsdPerHour, 0),
    }))
    .sort((a, b) => compareText(a.name, b.name));
}

function nodeOf({ cheapest, instanceTypes, requests, pods }: PlannedClaim): ReportNode {
  const { instanceType, zone, capacityType, priceMicroUsd } = cheapest;
  const type = instanceTypes.find(({ name }) => name === instanceType);
  const there = type === undefined ? {} : subtractResources(type.capacity, type.overhead);
  return {
    instanceType,
    zone,
    capacityType,
    priceMicroUsdPerHour: priceMicroUsd,
    cpu: shareOf(requests, there, "cpu"),
    memory: shareOf(requests, there, "memory"),
    pods: reportPods(
      pods.filter((pod) => !isBufferPod(pod)),
      there,
    ),
  };
}

/** The pods of a node with the allocatable resources `there`, largest first. */
export function reportPods(pods: readonly Pod[], there: Resources): readonly ReportPod[] {
  return pods
    .map((pod) => ({ name: keyOf(pod), cpu: shareOf(podRequests(pod), there, "cpu") }))
    .sort((a, b) => b.cpu - a.cpu || compareText(a.name, b.name));
}

/** The share of one resource: `some` divided by `all`, 0 to 1. */
export function shareOf(some: Resources, all: Resources, name: string): number {
  const most = all[name] ?? 0;
  return most <= 0 ? 0 : Math.min(1, (some[name] ?? 0) / most);
}

function unplacedOf({ unschedulable }: Plan): readonly ReportUnplaced[] {
  return unplacedGroups(unschedulable).map(({ one, pods, reasons }) => ({
    reasons,
    pods,
    ...(one.nearest === undefined ? {} : { nearest: nearestText(one.nearest) }),
    ...(one.fix === undefined ? {} : { fix: one.fix.text }),
  }));
}

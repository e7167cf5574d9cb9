/** What a report of a plan shows, whatever its form: figures, nodes with their pods, pods without a place, notes. */
import { podRequests } from "../../apis/core/pod-resources.ts";
import { keyOf } from "../../apis/meta.ts";
import { type Resources, subtractResources } from "../../apis/resources.ts";
import { counted } from "../../base/counted.ts";
import { compareText } from "../../base/text-order.ts";
import { usd } from "../../core/answers/command-answer.ts";
import type { PlannedClaim, SchedulingResult } from "../../core/provisioning/result.ts";
import type { Plan } from "../plan/plan.ts";
import { unplacedGroups } from "../plan/plan-text.ts";
import { percent, perMonth } from "../program/figures.ts";

export interface Figure {
  readonly label: string;
  readonly value: string;
}

export interface ReportPod {
  /** `namespace/name`. */
  readonly name: string;
  /** Share of the node's CPU that it requests, 0 to 1. */
  readonly cpu: number;
}

export interface ReportNode {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicroUsdPerHour: number;
  /** Requested of what can be allocated, 0 to 1, daemons included. */
  readonly cpu: number;
  readonly memory: number;
  /** Largest first. */
  readonly pods: readonly ReportPod[];
}

export interface ReportPool {
  readonly name: string;
  readonly priceMicroUsdPerHour: number;
  readonly nodes: readonly ReportNode[];
}

/** Pods that fell by the same reason. */
export interface ReportUnplaced {
  /** A sentence for each NodePool. */
  readonly reasons: readonly string[];
  readonly pods: readonly string[];
  /** The smallest change that gives them a place; absent: none is known. */
  readonly fix?: string;
}

export interface Report {
  readonly title: string;
  readonly figures: readonly Figure[];
  /** By name. */
  readonly pools: readonly ReportPool[];
  readonly unplaced: readonly ReportUnplaced[];
  readonly risks: readonly string[];
  readonly notes: readonly string[];
}

/** The report of a plan. `result`: what the plan was read from. */
export function planReport(plan: Plan, result: SchedulingResult, notes: readonly string[]): Report {
  const { totals } = plan;
  const price = totals.priceMicroUsdPerHour;
  const bound = totals.lowerBoundMicroUsdPerHour;
  return {
    title: "Karpenter plan",
    figures: [
      { label: "Pods placed", value: `${totals.placed} of ${totals.pods}` },
      { label: "New nodes", value: String(totals.nodes) },
      { label: "Cost per hour", value: usd(price) },
      { label: "Cost per month", value: perMonth(price) },
      ...(bound === undefined
        ? []
        : [{ label: "No plan costs less than", value: `${usd(bound)}/h` }]),
    ],
    pools: poolsOf(result.newClaims),
    unplaced: unplacedOf(plan),
    risks: plan.risks.map(({ text }) => text),
    notes,
  };
}

/** One line on the node, for people. */
export function nodeText({ instanceType, zone, capacityType, pods, ...node }: ReportNode): string {
  const price = usd(node.priceMicroUsdPerHour);
  const shares = `CPU ${percent(node.cpu)}, memory ${percent(node.memory)}`;
  return `${instanceType}, ${capacityType}, ${zone}, ${price}/h, ${counted(pods.length, "pod")}, ${shares}`;
}

function poolsOf(claims: readonly PlannedClaim[]): readonly ReportPool[] {
  const byPool = new Map<string, ReportNode[]>();
  for (const claim of claims) {
    const own = byPool.get(claim.pool.name);
    if (own === undefined) byPool.set(claim.pool.name, [nodeOf(claim)]);
    else own.push(nodeOf(claim));
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
    pods: pods
      .map((pod) => ({ name: keyOf(pod), cpu: shareOf(podRequests(pod), there, "cpu") }))
      .sort((a, b) => b.cpu - a.cpu || compareText(a.name, b.name)),
  };
}

function shareOf(some: Resources, all: Resources, name: string): number {
  const most = all[name] ?? 0;
  return most <= 0 ? 0 : Math.min(1, (some[name] ?? 0) / most);
}

function unplacedOf({ unschedulable }: Plan): readonly ReportUnplaced[] {
  return unplacedGroups(unschedulable).map(({ one, pods, reasons }) => ({
    reasons,
    pods,
    ...(one.fix === undefined ? {} : { fix: one.fix.text }),
  }));
}

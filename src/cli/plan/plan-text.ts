/** A plan for people: what would be launched and for whom, what it costs, and who stays without. */
import { usd } from "../../core/answers/command-answer.ts";
import { table } from "../program/layout.ts";
import type { Plan, PlannedNode, Unplaced } from "./plan.ts";

/** Most pods named in one line; the rest are counted. */
const NAMED = 4;

/** Ends with a newline. `notes` go below the plan. */
export function planText(plan: Plan, notes: readonly string[]): string {
  const { totals } = plan;
  const lines: string[] = [];
  if (plan.newNodeClaims.length > 0) {
    lines.push("Nodes to launch", ...table(launchRows(plan.newNodeClaims)), "");
  }
  if (plan.existingNodes.length > 0) {
    const rows = plan.existingNodes.map(({ node, pods }) => [node, count(pods), named(pods)]);
    lines.push("Nodes that take pods", ...table([["NODE", "PODS", "WHICH"], ...rows]), "");
  }
  if (plan.unschedulable.length > 0) {
    lines.push("Pods without a place", ...unplacedLines(plan.unschedulable), "");
  }
  lines.push(
    `${totals.placed} of ${totals.pods} pods placed; ${totals.nodes} new ${totals.nodes === 1 ? "node" : "nodes"}, ` +
      `${usd(totals.priceMicroUsdPerHour)} an hour; worked out in ${plan.timings.solveMs} ms`,
  );
  const bound = totals.lowerBoundMicroUsdPerHour;
  if (bound !== undefined)
    lines.push(`no plan for these pods costs less than ${usd(bound)} an hour`);
  lines.push(...notes.map((note) => `note: ${note}`));
  return `${lines.join("\n")}\n`;
}

/** Equal nodes share a row. */
function launchRows(claims: readonly PlannedNode[]): string[][] {
  const head = [
    "COUNT",
    "NODEPOOL",
    "CHEAPEST",
    "ZONE",
    "CAPACITY",
    "$/HOUR",
    "OR",
    "REQUESTS",
    "PODS",
    "WHICH",
  ];
  const groups = new Map<string, PlannedNode[]>();
  for (const claim of claims) {
    const { nodePool, cheapest, requests, instanceTypes } = claim;
    const key = JSON.stringify([nodePool, cheapest, requests, instanceTypes.length]);
    const alike = groups.get(key);
    if (alike === undefined) groups.set(key, [claim]);
    else alike.push(claim);
  }
  const rows = [...groups.values()].map((alike) => {
    const [{ nodePool, cheapest, requests, instanceTypes, pods }] = alike as [PlannedNode];
    const others = instanceTypes.length - 1;
    return [
      `${alike.length} x`,
      nodePool,
      cheapest.instanceType,
      cheapest.zone,
      cheapest.capacityType,
      usd(cheapest.priceMicroUsdPerHour * alike.length),
      others === 0 ? "no other" : `${others} others`,
      `${requests["cpu"] ?? "0"} cpu, ${requests["memory"] ?? "0"}`,
      count(pods),
      named(alike.flatMap((one) => one.pods)),
    ];
  });
  return [head, ...rows];
}

/** Replicas fail alike: told once, with the pods for which reason, nearest place and fix are the same. */
function unplacedLines(all: readonly Unplaced[]): string[] {
  const alike = new Map<string, { readonly one: Unplaced; readonly pods: string[] }>();
  for (const one of all) {
    const told = toldOf(one);
    const known = alike.get(told);
    if (known === undefined) alike.set(told, { one, pods: [one.pod] });
    else known.pods.push(one.pod);
  }
  return [...alike.values()].flatMap(({ one, pods }) => {
    const { nearest, fix } = one;
    const where = nearest?.instanceType === undefined ? "" : ` ${nearest.instanceType} of`;
    return [
      `  ${named(pods)}`,
      `    ${one.reason}`,
      ...one.nodePools.map((pool) => `    ${fellText(pool)}`),
      ...(nearest === undefined
        ? []
        : [`    nearest:${where} ${nearest.nodePool}: ${nearest.missing.join("; ")}`]),
      ...(fix === undefined ? [] : [`    fix: ${fix.text}`]),
      ...(fix === undefined && nearest !== undefined ? [`    fix: ${NO_FIX}`] : []),
    ];
  });
}

function toldOf({ reason, nearest, fix }: Unplaced): string {
  return JSON.stringify([reason, nearest, fix?.text]);
}

const NO_FIX = "none found: no few changes of the pod or a NodePool place it";

/** `general: instance types that fell: 4 by resources, 8 by host ports`. */
export function fellText({ nodePool, rejected }: Unplaced["nodePools"][number]): string {
  if (rejected["noInstanceTypes"] !== undefined)
    return `${nodePool}: its requirements leave no instance type`;
  const fell = Object.entries(rejected).map(
    ([reason, types]) => `${types} by ${reason === "hostPorts" ? "host ports" : reason}`,
  );
  return `${nodePool}: instance types that fell: ${fell.join(", ")}`;
}

function named(pods: readonly string[]): string {
  const shown = pods.slice(0, NAMED).join(", ");
  return pods.length > NAMED ? `${shown} and ${pods.length - NAMED} more` : shown;
}

function count(pods: readonly string[]): string {
  return String(pods.length);
}

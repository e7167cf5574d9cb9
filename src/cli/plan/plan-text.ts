/** A plan for people: what would be launched and for whom, what it costs, and who stays without. */
import { type Printed, printedLines } from "../../base/printable.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { table } from "../program/layout.ts";
import type { Plan, PlannedNode, Unplaced } from "./plan.ts";

/** Most pods named in one line; the rest are counted. */
const NAMED = 4;

/** Ends with a newline. `notes` go below the plan. */
export function planText(plan: Plan, notes: readonly string[]): Printed {
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
  return printedLines(lines);
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
      requestsText(requests),
      count(pods),
      named(alike.flatMap((one) => one.pods)),
    ];
  });
  return [head, ...rows];
}

/** `2 cpu, 4Gi, 1 nvidia.com/gpu`: what machines are chosen by; how many pods it is stands beside. */
function requestsText({ cpu, memory, pods: _, ...others }: PlannedNode["requests"]): string {
  const more = Object.entries(others).map(([name, amount]) => `${amount} ${name}`);
  return [`${cpu ?? "0"} cpu`, ...(memory === undefined ? [] : [memory]), ...more].join(", ");
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
      ...reasonLines(one).map((line) => `    ${line}`),
      ...(nearest === undefined
        ? []
        : [`    nearest:${where} ${nearest.nodePool}: ${nearest.missing.join("; ")}`]),
      ...(fix === undefined ? [] : [`    fix: ${fix.text}`]),
      ...(fix === undefined && nearest !== undefined ? [`    fix: ${NO_FIX}`] : []),
    ];
  });
}

/** A replica's own claim is named in its reason, and makes it no other. */
function toldOf({ reason, nearest, fix }: Unplaced): string {
  const told = reason.replace(/PersistentVolumeClaim=[^,)]*/, "");
  return JSON.stringify([told, nearest, fix?.text]);
}

/**
 * A line for each pool. Upstream's sentence is whole in the JSON; without the pool's name, what daemons take and all
 * that was asked for it can be read.
 */
function reasonLines({ reason, nodePools }: Unplaced): string[] {
  const parts = reason.split(/; (?=incompatible with )/);
  if (parts.length !== nodePools.length)
    return [reason, ...nodePools.map((pool) => fellText(pool))];
  return nodePools.map((pool, index) => {
    const sentence = (parts[index] as string)
      .replace(/^incompatible with .*? daemonset overhead=\{.*?\}, /, "")
      .replace(/, requirements=.*$/, "");
    return fellText(pool, ` ${sentence};`);
  });
}

const NO_FIX = "none found: no few changes of the pod or a NodePool place it";

/** `general: instance types that fell: 4 by resources, 8 by host ports`; `why` stands before these. */
export function fellText({ nodePool, rejected }: Unplaced["nodePools"][number], why = ""): string {
  if (rejected["noInstanceTypes"] !== undefined)
    return `${nodePool}: its requirements leave no instance type`;
  const fell = Object.entries(rejected).map(
    ([reason, types]) => `${types} by ${reason === "hostPorts" ? "host ports" : reason}`,
  );
  return `${nodePool}:${why} instance types that fell: ${fell.join(", ")}`;
}

function named(pods: readonly string[]): string {
  const shown = pods.slice(0, NAMED).join(", ");
  return pods.length > NAMED ? `${shown} and ${pods.length - NAMED} more` : shown;
}

function count(pods: readonly string[]): string {
  return String(pods.length);
}

/** A plan as text: what would be launched for which pods, what it costs, and which pods have no place. */

import { counted, firstNames, grouped } from "../../base/counted.ts";
import type { Printed } from "../../base/printable.ts";
import { within } from "../../base/within.ts";
import { usd } from "../../core/answers/command-answer.ts";
import { sharedReason } from "../../core/answers/shared-reason.ts";
import { rejectionText } from "../program/code-words.ts";
import { perMonth } from "../program/figures.ts";
import { fittedTable, table } from "../program/layout.ts";
import {
  type Line,
  type Paint,
  PLAIN_SCREEN,
  painted,
  printedScreen,
  type Screen,
  wrapped,
} from "../program/terminal.ts";
import { headroomLines, roomText } from "./headroom-text.ts";
import type { Plan, PlannedNode, Unplaced } from "./plan.ts";
import { sentencesOf, withoutLists } from "./reason-words.ts";

/** Maximum number of pods that are named in one line. The others are counted. */
const NAMED = 4;

/**
 * The plan as text that ends with a newline. `notes` are below the plan. Lines fit the screen, unless the output is
 * wide.
 */
export function planText(
  plan: Plan,
  notes: readonly string[],
  screen: Screen = PLAIN_SCREEN,
): Printed {
  const { totals } = plan;
  const { paint } = screen;
  const lines: Line[] = [];
  const add = (title: string, rows: readonly (readonly string[])[]): void => {
    const [head = "", ...body] = screen.wide ? table(rows) : fittedTable(rows, screen.columns);
    lines.push(painted(title, paint.bold), painted(head, paint.dim), ...body, "");
  };
  if (plan.newNodeClaims.length > 0) {
    add("Nodes to launch", launchRows(plan.newNodeClaims, screen.wide === true));
    add("Cost", costRows(totals));
  }
  if (plan.existingNodes.length > 0) {
    const rows = plan.existingNodes.map(({ node, pods }) => [node, count(pods), named(pods)]);
    add("Nodes that take pods", [["NODE", "PODS", "WHICH"], ...rows]);
  }
  if (plan.unschedulable.length > 0) {
    lines.push(
      painted("Pods without a place", paint.red),
      ...unplacedLines(plan.unschedulable, paint),
      "",
    );
  }
  lines.push(summary(plan));
  lines.push(...headroomLines(plan));
  const bound = totals.lowerBoundMicroUsdPerHour;
  if (bound !== undefined)
    lines.push(`no plan for these pods costs less than ${usd(bound)} an hour`);
  lines.push(...plan.risks.map(({ text }) => painted(`risk: ${text}`, paint.yellow)));
  lines.push(...notes.map((note) => painted(`note: ${note}`, paint.dim)));
  // Lines are also wrapped in a pipe, because people read the text in pagers and build logs.
  return printedScreen(lines, wrapped(screen));
}

/** What must be read before the plan, because the controller would not carry the plan out. */
export function warningText(warnings: readonly string[], screen: Screen): Printed {
  const lines = warnings.map((one) => painted(`warning: ${one}`, screen.paint.yellow));
  return printedScreen([...lines, ""], wrapped(screen));
}

/** Milliseconds, or from ten seconds on, seconds: `13.0 s`. Exported for tests. */
export function tookText(ms: number): string {
  return ms < 10_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function summary(plan: Plan): string {
  const { totals, timings } = plan;
  const took = `planned in ${tookText(timings.solveMs)}`;
  if (totals.pods === 0 && plan.headroom === undefined)
    return `Nothing to plan: no pod in the input needs a place; ${took}`;
  const placed =
    totals.pods === 0
      ? "no pod needs a place"
      : `${grouped(totals.placed)} of ${counted(totals.pods, "pod")} placed`;
  return (
    `${placed}; ${counted(totals.nodes, "new node")}, ` +
    `${usd(totals.priceMicroUsdPerHour)} an hour, ${perMonth(totals.priceMicroUsdPerHour)} a month; ${took}`
  );
}

/** A row for each pool and one for the sum. */
function costRows({ nodePools, nodes, priceMicroUsdPerHour }: Plan["totals"]): string[][] {
  const pods = nodePools.reduce((sum, one) => sum + one.pods, 0);
  const all = { nodePool: "all", nodes, pods, priceMicroUsdPerHour };
  const rows = nodePools.length === 1 ? nodePools : [...nodePools, all];
  return [
    ["NODEPOOL", "NODES", "PODS", "$/HOUR", "$/MONTH"],
    ...rows.map((one) => [
      one.nodePool,
      grouped(one.nodes),
      grouped(one.pods),
      usd(one.priceMicroUsdPerHour),
      perMonth(one.priceMicroUsdPerHour),
    ]),
  ];
}

/**
 * Nodes that differ only in their other possible types share a row. With `isWide`, nodes with different requests
 * have rows of their own.
 */
function launchRows(claims: readonly PlannedNode[], isWide: boolean): string[][] {
  const groups = new Map<string, [PlannedNode, ...PlannedNode[]]>();
  for (const claim of claims) {
    const { nodePool, cheapest, requests } = claim;
    const key = JSON.stringify([nodePool, cheapest, isWide ? requests : ""]);
    const alike = groups.get(key);
    if (alike === undefined) groups.set(key, [claim]);
    else alike.push(claim);
  }
  const rows = [...groups.values()].map((alike) => {
    const [{ nodePool, cheapest, requests }] = alike;
    const pods = alike.flatMap((one) => one.pods);
    const room = roomText(alike.flatMap((one) => one.headroom ?? []));
    return [
      `${alike.length} x`,
      nodePool,
      cheapest.instanceType,
      cheapest.zone,
      cheapest.capacityType,
      usd(cheapest.priceMicroUsdPerHour * alike.length),
      ...(isWide ? [otherTypes(alike), requestsText(requests)] : []),
      count(pods),
      [...(pods.length === 0 ? [] : [named(pods)]), ...room].join("; "),
    ];
  });
  const wide = isWide ? ["OR", "REQUESTS OF EACH"] : [];
  return [
    ["COUNT", "NODEPOOL", "CHEAPEST", "ZONE", "CAPACITY", "$/HOUR", ...wide, "PODS", "WHICH"],
    ...rows,
  ];
}

/** How many other types the nodes may become: `no other`, `4 others`, `2-9 others`. */
function otherTypes(alike: readonly PlannedNode[]): string {
  const others = alike.map(({ instanceTypes }) => instanceTypes.length - 1);
  const [least, most] = [Math.min(...others), Math.max(...others)];
  if (most === 0) return "no other";
  const range = least === most ? String(most) : `${least}-${most}`;
  return `${range} ${most === 1 ? "other" : "others"}`;
}

/**
 * The requests by which types were chosen: `2 cpu, 4Gi, 1 nvidia.com/gpu`. The number of pods has its own column.
 */
function requestsText({ cpu, memory, pods: _, ...others }: PlannedNode["requests"]): string {
  const more = Object.entries(others).map(([name, amount]) => `${amount} ${name}`);
  return [`${cpu ?? "0"} cpu`, ...(memory === undefined ? [] : [memory]), ...more].join(", ");
}

/** Pods without a place that have the same reason, nearest place and fix. */
interface UnplacedGroup {
  readonly one: Unplaced;
  readonly pods: readonly string[];
  /** The reasons, one line for each pool. */
  readonly reasons: readonly string[];
}

/** Groups pods by reason, because replicas usually fail for the same reason. */
export function unplacedGroups(all: readonly Unplaced[]): readonly UnplacedGroup[] {
  const alike = new Map<string, UnplacedGroup & { readonly pods: string[] }>();
  for (const one of all) {
    const reasons = reasonLines(one);
    within(alike, toldOf(one, reasons), () => ({ one, pods: [], reasons })).pods.push(one.pod);
  }
  return [...alike.values()];
}

function unplacedLines(all: readonly Unplaced[], paint: Paint): Line[] {
  return unplacedGroups(all).flatMap(({ one, pods, reasons }) => {
    const { nearest, fix } = one;
    return [
      `  ${named(pods)}`,
      ...reasons.map((line) => `    ${line}`),
      ...(nearest === undefined ? [] : [`    nearest: ${nearestText(nearest)}`]),
      ...(fix === undefined ? [] : [painted(`    fix: ${fix.text}`, paint.green)]),
      ...(fix === undefined && nearest !== undefined ? [`    fix: ${NO_FIX}`] : []),
    ];
  });
}

/** The place that fits best, and what it lacks. */
export function nearestText({
  instanceType,
  nodePool,
  missing,
}: NonNullable<Unplaced["nearest"]>): string {
  const type = instanceType === undefined ? "" : `${instanceType} of `;
  return `${type}${nodePool}: ${missing.join("; ")}`;
}

/**
 * What is shown of the pod, by which pods are grouped. The whole reason is not compared: it has the pod's requests,
 * which differ between pods with the same cause.
 */
function toldOf({ nearest, fix }: Unplaced, reasons: readonly string[]): string {
  return JSON.stringify([reasons.map(sharedReason), nearest && nearestText(nearest), fix?.text]);
}

/** One line for each pool. JSON has upstream's whole sentence; here it is shortened to be readable. */
export function reasonLines({ reason, nodePools }: Unplaced): string[] {
  const parts = sentencesOf(reason);
  if (parts.length !== nodePools.length)
    return [reason, ...nodePools.map((pool) => fellText(pool))];
  return nodePools.map((pool, index) =>
    fellText(pool, ` ${withoutLists(parts[index] as string)};`),
  );
}

const NO_FIX = "none found: no small change of the pod or a NodePool would place it";

/**
 * Counts of the reasons: `general: instance types ruled out: 4 too small for its requests`. `why` is put before
 * them.
 */
function fellText({ nodePool, rejected }: Unplaced["nodePools"][number], why = ""): string {
  if (rejected["noInstanceTypes"] !== undefined)
    return `${nodePool}: its requirements leave no instance type`;
  return `${nodePool}:${why} instance types ruled out: ${rejectionText(rejected)}`;
}

function named(pods: readonly string[]): string {
  return firstNames(pods, NAMED);
}

function count(pods: readonly string[]): string {
  return String(pods.length);
}

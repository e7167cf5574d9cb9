/** Answers of `explain` as text: the essence in the first line, then one fact on each line. */

import { counted, firstNames, grouped } from "../../base/counted.ts";
import type { Printed } from "../../base/printable.ts";
import type { BrakeAnswer } from "../../core/answers/brake-answer.ts";
import type { Allowed, BudgetAnswer } from "../../core/answers/budget-answer.ts";
import { type CommandAnswer, usd } from "../../core/answers/command-answer.ts";
import { type Hold, holdText } from "../../core/answers/hold.ts";
import type { LaunchChoice } from "../../core/answers/launch-choice.ts";
import type { NodeAnswer } from "../../core/answers/node-answer.ts";
import type { BoundPodAnswer } from "../../core/answers/pod-answer.ts";
import type { PoolAnswer } from "../../core/answers/pool-answer.ts";
import { nearestText, reasonLines } from "../plan/plan-text.ts";
import { holdWords, ruledOutText } from "../program/code-words.ts";
import { fittedTable, section } from "../program/layout.ts";
import { PLAIN_SCREEN, printedScreen, type Screen, wrapped } from "../program/terminal.ts";
import type { ExplainAnswer, PoolList, WaitingPodAnswer } from "./explain.ts";

const NAMED = 5;
/** Maximum number of nodes of a command that get a line of their own. */
const LISTED = 10;

/** The answer and its notes as text that ends with a newline. */
export function explainText(
  answer: ExplainAnswer,
  notes: readonly string[],
  screen: Screen = PLAIN_SCREEN,
): Printed {
  const notesBelow = notes.map((note) => `note: ${note}`);
  return printedScreen([answer.says, ...answerLines(answer), ...notesBelow], wrapped(screen));
}

/** The lines after the first one, in sections. */
export function answerLines(answer: ExplainAnswer): readonly string[] {
  if (answer.kind === "Node") return nodeLines(answer);
  return answer.kind === "Pod" ? podLines(answer) : poolLines(answer);
}

/** A table with a row for each pool, as text that ends with a newline. */
export function poolListText(
  { items }: PoolList,
  notes: readonly string[],
  screen: Screen = PLAIN_SCREEN,
): Printed {
  const lines =
    items.length === 0 ? ["there is no NodePool"] : fittedTable(poolRows(items), screen.columns);
  const stopped = items.flatMap(({ name, launchesNothing: why }) =>
    why === undefined ? [] : [`${name} can launch no node: ${why}`],
  );
  return printedScreen(
    [...lines, ...stopped, ...notes.map((note) => `note: ${note}`)],
    wrapped(screen),
  );
}

/** The column heads, then a row for each pool. */
export function poolRows(items: PoolList["items"]): readonly (readonly string[])[] {
  const rows = items.map((one) => [
    one.kind === "NodePool" ? one.name : `${one.name} (${one.kind})`,
    one.ready ? "yes" : "no",
    String(one.nodes.total),
    usd(one.priceMicroUsdPerHour),
    one.limits.map(({ resource, percent }) => `${resource} ${percent}%`).join(", ") || "none",
    nextDisruption(one),
  ]);
  return [["NODEPOOL", "READY", "NODES", "$/HOUR", "LIMITS", "NEXT DISRUPTION"], ...rows];
}

function nextDisruption(answer: PoolAnswer): string {
  const { at, nodes, nextAllowedDisruption, paused, otherProvider } = answer;
  if (otherProvider !== undefined) return "other provider";
  if (paused !== undefined) return "paused";
  if (nextAllowedDisruption === undefined) return nodes.total === 0 ? "no nodes" : "not by itself";
  return nextAllowedDisruption === at ? "allowed now" : nextAllowedDisruption;
}

function nodeLines(answer: NodeAnswer): readonly string[] {
  const {
    origin,
    type,
    inconsistencies = [],
    marks = [],
    expires,
    holds = [],
    waits = [],
    repair,
    brake,
    repack,
    removal,
    alone,
    pods = [],
    moves = [],
    headroom = [],
  } = answer;
  return [
    ...section("Why it is here", [
      ...(origin === undefined
        ? []
        : [
            `NodeClaim ${answer.nodeClaim}, created ${origin.createdAt} from ${answer.nodePool ?? "?"}: ${origin.says}`,
            ...(origin.pods.length === 0 ? [] : [`pods that waited for it: ${named(origin.pods)}`]),
          ]),
      ...moves.map(({ says }) => says),
      ...(answer.managed
        ? [`pods now: ${pods.length === 0 ? "none that would move" : named(pods)}`]
        : []),
      ...headroom.map(
        ({ buffer, pods: kept }) =>
          `room kept: ${counted(kept, "pod")} of CapacityBuffer ${buffer}`,
      ),
    ]),
    ...(type === undefined ? [] : section("Why this type", typeLines(type))),
    ...(inconsistencies.length === 0 ? [] : section("Not as promised", inconsistencies)),
    ...(answer.managed
      ? section("Why it is not removed", [
          ...(repair === undefined ? [] : [repair.says]),
          ...holds.map(holdLine),
          ...waits,
          ...brakeLines(brake),
          ...(repack === undefined ? [] : [repack]),
          ...(holds.length + waits.length === 0 && repair === undefined
            ? ["nothing protects it"]
            : []),
          ...marks.map(
            ({ type: mark, since, reason }) =>
              `marked ${mark} since ${since}${reason === mark ? "" : ` (${reason})`}`,
          ),
          ...(expires === undefined ? [] : [`expires ${expires.at} (${expires.mode})`]),
        ])
      : []),
    ...(removal === undefined ? [] : section("It would be removed next", commandLines(removal))),
    ...(alone === undefined ? [] : section("If nothing kept it", commandLines(alone))),
    ...(removal === undefined ? nextLines(answer.next) : []),
  ];
}

function brakeLines(brake: BrakeAnswer | undefined): readonly string[] {
  return brake === undefined ? [] : [brake.says, brake.why, `to release it now: ${brake.release}`];
}

function typeLines(type: LaunchChoice): readonly string[] {
  return [
    `${type.instanceType}, ${type.capacityType}, ${type.zone}: ${usd(type.priceMicroUsdPerHour)} an hour; the NodeClaim allowed ${counted(type.askedFor, "type")}`,
    Object.keys(type.cheaper).length === 0
      ? "no type of its pool is cheaper"
      : `cheaper types of its pool: ${ruledOutText(type.cheaper)}`,
    ...type.nearest.map(
      (one) =>
        `${one.instanceType} (${one.capacityType}, ${one.zone}, ${usd(one.priceMicroUsdPerHour)}): ${one.says}`,
    ),
  ];
}

function holdLine({ by, against, ...hold }: Hold): string {
  const whose =
    by === undefined
      ? ""
      : ` [${by.kind} ${by.namespace === undefined ? "" : `${by.namespace}/`}${by.name}]`;
  return `${against.join(", ")}: ${holdText(hold, whose)}`;
}

function commandLines(command: CommandAnswer): readonly string[] {
  const wait = command.validateAfterSeconds;
  return [
    command.says,
    ...command.nodes
      .slice(0, LISTED)
      .map(
        (one) =>
          `- ${one.node} (${one.instanceType}, ${one.capacityType}, ${usd(one.priceMicroUsdPerHour)}), pods: ${named(one.pods)}`,
      ),
    ...(command.nodes.length > LISTED ? [`- and ${command.nodes.length - LISTED} more`] : []),
    ...command.replacements.map(
      (one) =>
        `+ ${one.instanceType} of ${one.nodePool} (${one.capacityType}, ${one.zone}, ${usd(one.priceMicroUsdPerHour)})${orOthers(one.instanceTypes)}, pods: ${named(one.pods)}`,
    ),
    ...(command.targets.length === 0 ? [] : [`pods go to: ${named(command.targets)}`]),
    `by ${command.method}${wait === 0 ? "" : `, validated again after ${wait} s`}`,
  ];
}

function nextLines(next: readonly CommandAnswer[]): readonly string[] {
  return next.length === 0
    ? section("Next command in the cluster", ["none: no node would be disrupted now"])
    : section("Next command in the cluster", next.flatMap(commandLines));
}

/** The use of one limit as text. A limit of 0 has no percentage, because the division has no result. */
function limitLine({ resource, used, limit, percent }: PoolAnswer["limits"][number]): string {
  return limit === "0"
    ? `${resource}: ${used}, and the limit allows none`
    : `${resource}: ${forPeople(used)} of ${forPeople(limit)} (${percentText(percent, used)})`;
}

/** A share above zero that rounds to 0 % is shown as "less than 1%". */
function percentText(percent: number, used: string): string {
  return percent === 0 && used !== "0" ? "less than 1%" : `${percent}%`;
}

/** Adds thousands separators to a quantity without a suffix. Other quantities stay unchanged. */
function forPeople(quantity: string): string {
  return /^\d+$/.test(quantity) ? grouped(Number(quantity)) : quantity;
}

function poolLines(answer: PoolAnswer): readonly string[] {
  const { policy, nodes } = answer;
  const wanted = nodes.wanted === undefined ? "" : ` of ${nodes.wanted} wanted`;
  return [
    ...section("Use", [
      `${counted(nodes.total, "node")}${wanted}, ${nodes.leaving} leaving, ${usd(answer.priceMicroUsdPerHour)} an hour`,
      ...answer.limits.map(limitLine),
      ...(answer.limits.length === 0 ? ["no limits"] : []),
    ]),
    ...section("Disruption", [
      `${policy.consolidationPolicy}, consolidateAfter ${policy.consolidateAfter}, expireAfter ${policy.expireAfter}`,
      ...answer.budgets.map(budgetLine),
      ...[answer.paused ?? answer.otherProvider ?? []].flat(),
      ...brakeLines(answer.brake),
      ...answer.disruptions.map(({ reason, says }: Allowed) => `${reason}: ${says}`),
      ...(nodes.total === 0 && answer.nextAllowedDisruption === undefined
        ? []
        : [
            `next allowed disruption: ${answer.nextAllowedDisruption ?? "never, unless something changes"}`,
          ]),
    ]),
    ...(answer.moves.length === 0
      ? []
      : section(
          "Recent moves",
          answer.moves.map(({ says }) => says),
        )),
    ...section("What protects its nodes", [
      ...answer.held.map(
        ({ block, count, nodes: names }) =>
          `${counted(count, "node")}: ${holdWords(block)}: ${names.join(", ")}${count > names.length ? ` and ${count - names.length} more` : ""}`,
      ),
      ...(answer.repack === undefined ? [] : [`repack: ${answer.repack}`]),
    ]),
    ...section(
      "Next command for this NodePool",
      answer.next.length === 0
        ? ["none: no node would be disrupted now"]
        : answer.next.flatMap(commandLines),
    ),
  ];
}

function budgetLine({
  nodes,
  reasons,
  schedule,
  timeZone,
  duration,
  active,
  changesAt,
  problem,
}: BudgetAnswer): string {
  const place = timeZone === undefined ? "" : ` (${timeZone})`;
  const when = schedule === undefined ? "always" : `${schedule}${place} for ${duration ?? ""}`;
  const change = changesAt === undefined ? "" : `, ${active ? "until" : "next"} ${changesAt}`;
  const what = reasons === undefined ? "all reasons" : reasons.join(", ");
  const state = problem !== undefined ? "cannot be read" : active ? "active" : "not active";
  return `budget ${nodes} (${what}; ${when}): ${state}${change}`;
}

function podLines(answer: BoundPodAnswer | WaitingPodAnswer): readonly string[] {
  const about = section("Requests and rules", [
    Object.entries(answer.requests)
      .map(([name, amount]) => `${name} ${amount}`)
      .join(", "),
    ...answer.ties,
  ]);
  if (answer.state !== "running") {
    const lost = answer.lostNode === undefined ? [] : section("Earlier plan", [answer.lostNode]);
    const plan = planLines(answer.plan);
    return answer.plan?.to === "nowhere"
      ? [...plan, ...about, ...lost]
      : [...about, ...lost, ...plan];
  }
  const { elsewhere } = answer;
  const where =
    elsewhere === undefined
      ? []
      : elsewhere.to === "node"
        ? [`node ${elsewhere.node} would take it`]
        : elsewhere.to === "nowhere"
          ? [`nowhere: ${elsewhere.why}`]
          : [
              `a new ${elsewhere.launch.instanceType} of ${elsewhere.launch.nodePool} for ${usd(elsewhere.launch.priceMicroUsdPerHour)} an hour`,
            ];
  return [
    ...about,
    ...section("Guarded by", [
      ...answer.guards.map(
        ({ name, disruptionsAllowed }) =>
          `PodDisruptionBudget ${name}: ${counted(disruptionsAllowed, "disruption")} allowed now`,
      ),
      ...(answer.noMoveWithoutDowntime === undefined
        ? []
        : [`not moved without downtime, though it asks for it: ${answer.noMoveWithoutDowntime}`]),
      ...answer.holds.map((hold) => holdText(hold)),
    ]),
    ...section(`Why ${answer.node} stays`, answer.nodeHolds.map(holdLine)),
    ...section("If its node is removed", where),
  ];
}

function planLines(plan: WaitingPodAnswer["plan"]): readonly string[] {
  if (plan === undefined) return [];
  if (plan.to === "node") return section("Place", [`room on ${plan.node}`]);
  if (plan.to === "launch") {
    const { cheapest, nodePool, instanceTypes, pods } = plan.launch;
    return section("Place", [
      `a new node of ${nodePool}: ${cheapest.instanceType} (${cheapest.capacityType}, ${cheapest.zone}, ${usd(cheapest.priceMicroUsdPerHour)})${orOthers(instanceTypes.length)}`,
      `together with: ${named(pods)}`,
    ]);
  }
  const { nodePools, nearest, fix, existingNodes = [] } = plan;
  return [
    ...section("Why there is no place", [
      ...(fix === undefined ? [] : [`fix: ${fix.text}`]),
      ...(nearest === undefined ? [] : [`nearest: ${nearestText(nearest)}`]),
      ...(nodePools.length === 0 ? [] : reasonLines(plan)),
    ]),
    ...section(
      "Why no existing node takes it",
      existingNodes.map(
        ({ says, nodes }) => `${counted(nodes.length, "node")}: ${says} (${named(nodes)})`,
      ),
    ),
  ];
}

function named(names: readonly string[]): string {
  return firstNames(names, NAMED) || "none";
}

function orOthers(types: number): string {
  return types > 1 ? ` or ${types - 1} others` : "";
}

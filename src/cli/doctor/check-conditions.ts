/**
 * Checks of NodePools and node classes by their conditions, and of the disruption budgets of NodePools. Every condition
 * that says that something is wrong is reported, not only `Ready`.
 */
import { type Conditioned, condition, isTrue } from "../../apis/karpenter/conditions.ts";
import type { Budget } from "../../apis/karpenter/nodepool.ts";
import type { Condition, KubeObject } from "../../apis/meta.ts";
import { brokenBudgets } from "../../core/disruption/budgets.ts";
import { BRAKE_CONDITION } from "../../core/safety/brake-condition.ts";
import { SET_BACK_CONDITION } from "../../core/safety/set-back.ts";
import type { CheckedItem } from "../checks/checks.ts";
import { conditionToMend, whyNotReady } from "../checks/why-not-ready.ts";

/** The area of the items about NodePools and Provisioners. */
export const POOLS_AREA = "NodePools";
/** The area of the items about node classes. */
export const CLASSES_AREA = "node classes";

/**
 * Conditions that are wrong with status True, and whether they are reported here. All other conditions are wrong with
 * status False. Two conditions have a check of their own. Drifted nodes are replaced, so they are no fault.
 */
const WRONG_IF_TRUE: ReadonlyMap<string, "reported" | "left out"> = new Map([
  ["RepairStopped", "reported"],
  ["QuotaNear", "reported"],
  [BRAKE_CONDITION, "left out"],
  [SET_BACK_CONDITION, "left out"],
  ["Drifted", "left out"],
]);

/** Reasons of the condition DisruptionAllowed that somebody chose: a pause, or budgets without a fault. */
const CHOSEN = ["Paused", "Budgets"];

interface PoolFields extends KubeObject {
  readonly spec?: { readonly disruption?: { readonly budgets?: readonly Budget[] } };
}

/** An item about each object: whether it is ready. Then items about its budgets and its other conditions. */
export function checkConditions(
  area: typeof POOLS_AREA | typeof CLASSES_AREA,
  objects: readonly KubeObject[],
): readonly CheckedItem[] {
  return objects.flatMap((one) => {
    const broken = brokenBudgets((one as PoolFields).spec?.disruption?.budgets ?? []);
    const budgets: readonly CheckedItem[] =
      broken === undefined
        ? []
        : [
            {
              area,
              item: one.metadata.name,
              state: "todo",
              says: `No node of it is disrupted while a budget cannot be read: ${broken}`,
              remedy: `mend spec.disruption.budgets of ${one.kind} ${one.metadata.name}`,
            },
          ];
    return [readinessOf(area, one), ...budgets, ...otherFaults(area, one, broken !== undefined)];
  });
}

function readinessOf(area: string, one: KubeObject): CheckedItem {
  const item = one.metadata.name;
  const { deletionTimestamp } = one.metadata;
  if (area === CLASSES_AREA && deletionTimestamp !== undefined)
    return {
      area,
      item,
      state: "todo",
      says: `It is being deleted since ${deletionTimestamp}: no node is launched with it`,
      remedy: `apply it again once it is gone, or name another ${one.kind} in the NodePools that use it`,
    };
  // An AWSNodeTemplate has no conditions: a status shows that its controller has looked at it.
  const isSeen = one.kind === "AWSNodeTemplate" && "status" in one;
  const type = readyType(one);
  if (isSeen || isTrue(one, type)) return { area, item, state: "ready", says: "ready" };
  const found = condition(one, type);
  if (found === undefined)
    return {
      area,
      item,
      state: "todo",
      says: "No controller has set its conditions yet",
      remedy: `start the controller with the provider of this ${one.kind}, and read its log`,
    };
  return {
    area,
    item,
    state: "todo",
    says: `It is not ready: ${whyNotReady(one, found)}`,
    remedy: remedyFor(one, conditionToMend(one, found)),
  };
}

function readyType({ kind }: KubeObject): string {
  return kind === "Provisioner" ? "Active" : "Ready";
}

/** Items about the conditions that are wrong and that the item about readiness does not name. */
function otherFaults(
  area: string,
  one: KubeObject,
  hasBrokenBudget: boolean,
): readonly CheckedItem[] {
  const { conditions = [] } = (one as Conditioned).status ?? {};
  const ready = readyType(one);
  const named = condition(one, ready)?.message ?? "";
  return conditions
    .filter(({ type }) => type !== ready && !named.includes(`${type}=`))
    .filter(isWrong)
    .filter(({ reason }) => !(hasBrokenBudget && reason === "BudgetNotReadable"))
    .map((found): CheckedItem => {
      const { type, status, message, reason } = found;
      const at = { area, item: one.metadata.name };
      const says = `${type} is ${status}: ${message || reason || "no reason is given"}`;
      if (type === "DisruptionAllowed" && CHOSEN.includes(reason ?? ""))
        return { ...at, state: "differs", says };
      return { ...at, state: "todo", says, remedy: remedyFor(one, conditionToMend(one, found)) };
    });
}

function isWrong({ type, status }: Condition): boolean {
  const ifTrue = WRONG_IF_TRUE.get(type);
  return ifTrue === undefined ? status === "False" : ifTrue === "reported" && status === "True";
}

function remedyFor(one: KubeObject, what: string): string {
  return `mend what its condition ${what} names; kubectl describe ${one.kind?.toLowerCase()} ${one.metadata.name} shows all`;
}

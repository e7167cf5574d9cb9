/** A command as people and programs read it: which nodes go, what comes, what it saves. */
import { INSTANCE_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import { isBufferPod } from "../buffers/pods.ts";
import type { Candidate } from "../disruption/candidates.ts";
import {
  type Command,
  type CommandReason,
  decisionOf,
  savingsMicroUsd,
} from "../disruption/command.ts";
import type { PlannedClaim } from "../provisioning/result.ts";

/** A machine that is there. */
export interface NodeFacts {
  readonly node: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicroUsdPerHour: number;
  /** Those that would move: no daemons. */
  readonly pods: readonly string[];
}

/** A machine that would be asked for, as it would be if the cheapest were had. */
export interface LaunchFacts {
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicroUsdPerHour: number;
  /** How many instance types are asked for. */
  readonly instanceTypes: number;
  readonly pods: readonly string[];
}

/** A disruption command as a contract. Prices are micro-dollars an hour. */
export interface CommandAnswer {
  readonly says: string;
  readonly reason: CommandReason;
  /** The method that proposes it. */
  readonly method: string;
  readonly decision: "delete" | "replace" | "reboot" | "terminate-first";
  readonly nodes: readonly NodeFacts[];
  readonly replacements: readonly LaunchFacts[];
  /** Nodes that take pods of those that go. */
  readonly targets: readonly string[];
  readonly savesMicroUsdPerHour: number;
  /** It is looked at again after so long before anything is done. */
  readonly validateAfterSeconds: number;
}

/** In a sentence; the lists have them all. */
const MOST_NAMED = 5;

/** The command, proposed by the method of this name. */
export function commandAnswer(command: Command, method: string): CommandAnswer {
  const nodes = command.candidates.map(nodeFacts);
  const replacements = command.replacements.map(launchFacts);
  const savesMicroUsdPerHour = savingsMicroUsd(command);
  const names = some(nodes.map(({ node }) => node));
  const types = replacements.map(
    ({ instanceType, capacityType }) => `${instanceType}/${capacityType}`,
  );
  const decided = decisionOf(command);
  const decision = decided === "no-op" ? "replace" : decided;
  const verb = decision === "reboot" ? "reboot" : "delete";
  const what = types.length === 0 ? `${verb} ${names}` : `replace ${names} by ${some(types)}`;
  const money =
    savesMicroUsdPerHour < 0
      ? `costs ${usd(-savesMicroUsdPerHour)} an hour more`
      : `saves ${usd(savesMicroUsdPerHour)} an hour`;
  return {
    says: `${what} (${command.reason}): ${money}`,
    reason: command.reason,
    method,
    decision,
    nodes,
    replacements,
    targets: command.targets,
    savesMicroUsdPerHour,
    validateAfterSeconds: command.validateAfterMs / 1_000,
  };
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).join(", ");
  return names.length > MOST_NAMED ? `${shown} and ${names.length - MOST_NAMED} more` : shown;
}

function nodeFacts(candidate: Candidate): NodeFacts {
  const { node, pool, zone, capacityType, priceMicroUsd, reschedulablePods } = candidate;
  return {
    node: node.name,
    nodePool: pool.name,
    instanceType: node.labels[INSTANCE_TYPE_LABEL_KEY] ?? "",
    zone,
    capacityType,
    priceMicroUsdPerHour: priceMicroUsd,
    pods: reschedulablePods.map(keyOf),
  };
}

/** A planned node: its cheapest offering, how many types are possible, and its pods. */
export function launchFacts({ pool, cheapest, instanceTypes, pods }: PlannedClaim): LaunchFacts {
  return {
    nodePool: pool.name,
    instanceType: cheapest.instanceType,
    zone: cheapest.zone,
    capacityType: cheapest.capacityType,
    priceMicroUsdPerHour: cheapest.priceMicroUsd,
    instanceTypes: instanceTypes.length,
    pods: pods.filter((pod) => !isBufferPod(pod)).map(keyOf),
  };
}

/** `$0.0960`. */
export function usd(microUsd: number): string {
  return `$${(microUsd / 1e6).toFixed(4)}`;
}

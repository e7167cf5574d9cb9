/** A disruption command as an answer: the nodes that it removes, the nodes that it launches, and what it saves. */

import { INSTANCE_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { keyOf } from "../../apis/meta.ts";
import { firstNames } from "../../base/counted.ts";
import { isBufferPod } from "../buffers/pods.ts";
import type { Candidate } from "../disruption/candidates.ts";
import {
  type Command,
  type CommandReason,
  decisionOf,
  savingsMicroUsd,
} from "../disruption/command.ts";
import type { PlannedClaim } from "../provisioning/result.ts";

/** An existing node. */
export interface NodeInCommand {
  readonly node: string;
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicroUsdPerHour: number;
  /** The pods that would move. DaemonSet pods are not included. */
  readonly pods: readonly string[];
}

/** A node that would be launched, if the cloud chooses the cheapest offering. */
export interface LaunchFacts {
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly priceMicroUsdPerHour: number;
  /** The number of instance types from which the cloud may choose. */
  readonly instanceTypes: number;
  readonly pods: readonly string[];
}

/** A disruption command as printed with `-o json`. The format stays compatible. Prices are micro-dollars an hour. */
export interface CommandAnswer {
  readonly says: string;
  readonly reason: CommandReason;
  /** The name of the method that proposes the command. */
  readonly method: string;
  readonly decision: "delete" | "replace" | "reboot" | "terminate-first";
  readonly nodes: readonly NodeInCommand[];
  readonly replacements: readonly LaunchFacts[];
  /** Existing nodes that take pods of the removed nodes. */
  readonly targets: readonly string[];
  readonly savesMicroUsdPerHour: number;
  /** Seconds until the command is validated. The command does nothing before that. */
  readonly validateAfterSeconds: number;
}

/** The most names in a sentence. The lists contain all names. */
const MOST_NAMED = 5;

/** The answer about a command that the method of this name proposes. */
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
  return firstNames(names, MOST_NAMED);
}

function nodeFacts(candidate: Candidate): NodeInCommand {
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

/** Dollars as text, such as `$0.0960`. */
export function usd(microUsd: number): string {
  return `$${(microUsd / 1e6).toFixed(4)}`;
}

/** What the steps of the claim's life hand to each other: the claim so far, and what went wrong. */
import type { Node } from "../../../apis/core/node.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import type { ContestedFinalizers } from "../../../kube/client/contested-finalizers.ts";
import { AWAIT_CHANGE, type Outcome } from "../../../kube/manager/controller.ts";
import type { RegistrationTracker } from "../../registration-tracker.ts";

/** What the steps remember between reconciles, in this process only. */
export interface Memory {
  /** Launched instances by claim UID, until the launch is stored in the claim's status. */
  readonly launches: Map<string, { readonly launched: NodeClaim; readonly untilMs: number }>;
  /** Launch requests without an answer yet, by claim UID. */
  readonly asked: Map<string, Promise<NodeClaim>>;
  /** Claims that no other process can have launched, by UID: this one put the finalizer on. */
  readonly begunHere: Set<string>;
  /** Instances that other processes launched and that no claim names yet. Undefined until something is launched. */
  leftBehind: Promise<LeftBehind> | undefined;
  /** Instances that a claim took or tries to take, by provider ID. The value says whether it keeps the instance. */
  readonly taken: Map<string, Promise<boolean>>;
  /** Elapsed time of the first reconcile: what another process launched before is listed some seconds later. */
  startedMs: number | undefined;
  readonly tracker: RegistrationTracker;
  /** When a claim was first seen registered and not usable yet, by UID, in elapsed time. */
  readonly comingUp: Map<string, number>;
  /** Deleted claims, by kind and name. */
  readonly leaving: Map<string, LeavingClaim>;
  /** Claims that others take our finalizer off. */
  readonly contested: ContestedFinalizers;
}

/** A claim that is being deleted. */
interface LeavingClaim {
  readonly uid: string;
  /** The name of the Node that this process drains for it. */
  readonly seenAs: string;
}

/** Instances that no claim names, and the Nodes of that moment. */
export interface LeftBehind {
  readonly instances: readonly NodeClaim[];
  readonly nodes: readonly Node[];
}

/** What a step of the lifecycle found out. */
export interface StepResult {
  /** The claim with the results of this step, not written yet. */
  readonly claim: NodeClaim;
  readonly outcome: Outcome;
  /** Thrown once every step has run and the claim is stored: brings the item back with backoff. */
  readonly error?: unknown;
  /** The claim was deleted: the remaining steps are skipped. */
  readonly ended?: boolean;
  /** Runs after the claim is stored, for events and metrics that must follow a successful write. */
  readonly stored?: () => Promise<void> | void;
}

/** The result of a step that has nothing more to do now. */
export function done(claim: NodeClaim, outcome: Outcome = AWAIT_CHANGE): StepResult {
  return { claim, outcome };
}

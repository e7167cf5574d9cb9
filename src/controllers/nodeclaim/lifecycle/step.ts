/**
 * What the steps of a claim's life (launch, registration, initialization, liveness) pass to each other: the claim with
 * the results so far, and errors.
 */
import type { Node } from "../../../apis/core/node.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import type { ContestedChanges } from "../../../kube/client/contested-changes.ts";
import { AWAIT_CHANGE, type Outcome } from "../../../kube/manager/controller.ts";
import type { RegistrationTracker } from "../../registration-tracker.ts";

/** What the steps remember between reconciles. It is kept in this process only. */
export interface Memory {
  /** Launched instances by claim UID, until the claim's Node has registered, or for an hour. */
  readonly launches: Map<string, { readonly launched: NodeClaim; readonly untilMs: number }>;
  /** Launch requests that the cloud has not answered yet, by claim UID. */
  readonly asked: Map<string, Promise<NodeClaim>>;
  /** UIDs of claims to which this process added the finalizer. No other process can have launched them. */
  readonly begunHere: Set<string>;
  /** Instances that other processes launched and that no claim names yet. Undefined: not searched yet. */
  leftBehind: Promise<LeftBehind> | undefined;
  /**
   * Instances that a claim took over or tries to take over, by provider id. The value resolves to whether the claim
   * keeps the instance.
   */
  readonly taken: Map<string, Promise<boolean>>;
  /**
   * When the first reconcile ran, by the monotonic clock. The cloud may list launches of earlier processes only some
   * seconds later.
   */
  startedMs: number | undefined;
  readonly tracker: RegistrationTracker;
  /** When a claim was first seen registered but not initialized, by claim UID and the monotonic clock. */
  readonly comingUp: Map<string, number>;
  /** Claims that are being deleted, by kind and name. */
  readonly leaving: Map<string, LeavingClaim>;
  /** Claims from which other programs remove Karpenter's finalizer. */
  readonly contested: ContestedChanges;
  /** Claims from which other programs remove labels or owners that they were created with. */
  readonly contestedLabels: ContestedChanges;
}

/** A claim that is being deleted, and its Node. */
interface LeavingClaim {
  readonly uid: string;
  /** The name of the Node that this process drains for the claim. */
  readonly seenAs: string;
}

/** Instances that no claim names, and all Nodes at the time of the search. */
export interface LeftBehind {
  readonly instances: readonly NodeClaim[];
  readonly nodes: readonly Node[];
}

/** The result of a step of the lifecycle. */
export interface StepResult {
  /** The claim with the results of this step, not written yet. */
  readonly claim: NodeClaim;
  readonly outcome: Outcome;
  /** Thrown after all steps have run and the claim is stored, so that the claim is reconciled again with back-off. */
  readonly error?: unknown;
  /** Whether the claim was deleted. If so, the remaining steps are skipped. */
  readonly ended?: boolean;
  /** Runs after the claim is stored, for events and metrics that must follow a successful write. */
  readonly stored?: () => Promise<void> | void;
}

/** The result of a step that has nothing more to do now. */
export function done(claim: NodeClaim, outcome: Outcome = AWAIT_CHANGE): StepResult {
  return { claim, outcome };
}

/** What the steps of the claim's life hand to each other: the claim so far, and what went wrong. */
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { AWAIT_CHANGE, type Outcome } from "../../../kube/controller.ts";

export interface StepResult {
  /** The claim with what this step found out; not sent yet. */
  readonly claim: NodeClaim;
  readonly outcome: Outcome;
  /** Thrown once every step has run and the claim is stored: brings the item back with backoff. */
  readonly error?: unknown;
  /** The claim is given up: the remaining steps are skipped. */
  readonly ended?: boolean;
}

export function done(claim: NodeClaim, outcome: Outcome = AWAIT_CHANGE): StepResult {
  return { claim, outcome };
}

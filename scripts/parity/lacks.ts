/**
 * Names of upstream that karpenter-ts lacks, or accepts without effect, each with the reason. test/parity.test.ts
 * fails if one is not listed.
 */
import type { UpstreamFacts } from "./upstream-facts.ts";

export type Area = Exclude<keyof UpstreamFacts, "core" | "aws">;

export interface Lack {
  readonly area: Area;
  /** Matches whole names. The name of a field begins with its kind: `NodePool spec.replicas`. */
  readonly names: RegExp;
  /** `accepted`: the name exists here, and has no effect. */
  readonly is: "lacking" | "accepted" | "not needed";
  readonly reason: string;
}

export const LACKS: readonly Lack[] = [
  {
    area: "iamActions",
    names: /^iam:GetRole$/,
    is: "not needed",
    reason: "upstream declares this call and never makes it",
  },
  {
    area: "iamActions",
    names: /^sqs:SendMessage$/,
    is: "not needed",
    reason: "only upstream's tests send messages",
  },
];

/** Which Lease a Deployment of a Karpenter uses. */
import { expect, it } from "vitest";
import type { Deployment } from "../../apis/apps/kinds.ts";
import { leaseOf } from "./deployments.ts";

it.each<[string, object, string]>([
  ["by default", {}, "karpenter/karpenter-leader-election"],
  ["a variable", { env: [{ name: "LEADER_ELECTION_NAME", value: "a" }] }, "karpenter/a"],
  [
    "a variable that is no text",
    { env: [{ name: "LEADER_ELECTION_NAMESPACE", valueFrom: {} }] },
    "karpenter/karpenter-leader-election",
  ],
  ["flags", { args: ["--leader-election-name=a", "-leader-election-namespace", "b"] }, "b/a"],
  [
    "the program's own line",
    { command: ["controller", "--leader-election-name", "a"] },
    "karpenter/a",
  ],
  [
    "the last flag, before a variable",
    {
      args: ["--leader-election-name=a", "--leader-election-name=b"],
      env: [{ name: "LEADER_ELECTION_NAME", value: "c" }],
    },
    "karpenter/b",
  ],
])("finds the Lease that a Deployment uses: %s", (_, container, expected) => {
  const one = {
    metadata: { name: "karpenter", namespace: "karpenter" },
    spec: { template: { spec: { containers: [container] } } },
  } as unknown as Deployment;
  const { namespace, name } = leaseOf(one);
  expect(`${namespace}/${name}`).toBe(expected);
});

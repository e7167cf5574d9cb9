import { describe, expect, it } from "vitest";
import { instanceType, nodeView, pod, poolInput } from "../../testing/builders.ts";
import { valueNotes } from "./value-slips.ts";

const TYPE = "node.kubernetes.io/instance-type";
const CAPACITY_TYPE = "karpenter.sh/capacity-type";

const MEMORY = "karpenter.k8s.aws/instance-memory";

describe("a note about a value that no instance type has", () => {
  const types = [
    instanceType({ name: "c6i.large", labels: { [MEMORY]: ["4096"] } }),
    instanceType({ name: "c6i.xlarge" }),
  ];
  const wants = (name: string, nodeSelector: Readonly<Record<string, string>>) =>
    pod({ name, spec: { nodeSelector } });

  it("names the similar value, once for all objects", () => {
    const pool = poolInput(
      { requirements: [{ key: TYPE, operator: "In", values: ["c6i.larg", "c6i.xlarge"] }] },
      types,
    );
    const pods = ["a", "b"].map((name) => wants(name, { [CAPACITY_TYPE]: "ondemand" }));
    expect(valueNotes([pool], pods, [])).toEqual([
      `nodepool/default: no instance type has ${TYPE} c6i.larg; did you mean c6i.large?`,
      `default/a: no instance type has ${CAPACITY_TYPE} ondemand; did you mean on-demand?`,
    ]);
  });

  it("is not made for a value of a node, of another label, or without a similar one", () => {
    const node = nodeView({ node: { name: "n", labels: { [TYPE]: "c6i.larger" } } });
    const pods = [
      wants("a", { [TYPE]: "c6i.larger" }),
      wants("b", { disk: "sdd" }),
      wants("c", { [TYPE]: "u7i-12tb.224xlarge" }),
      wants("d", { [MEMORY]: "4095" }),
    ];
    expect(valueNotes([poolInput({}, types)], pods, [node])).toEqual([]);
  });
});

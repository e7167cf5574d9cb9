/** Objects for tests of the simulated parts: valid, with as few fields as possible. */
import type { Node, Taint } from "../../apis/core/node.ts";
import type { Pod, PodSpec } from "../../apis/core/pod.ts";
import type { ResourceAmounts } from "../../apis/meta.ts";

export const ZONE = "topology.kubernetes.io/zone";
export const HOSTNAME = "kubernetes.io/hostname";

/** A ready node: 4 cpu, 16 GiB, 58 pods, in zone `a`. */
export function testNode(
  name: string,
  options: {
    readonly zone?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly taints?: readonly Taint[];
    readonly unschedulable?: boolean;
    readonly allocatable?: ResourceAmounts;
  } = {},
): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { [HOSTNAME]: name, [ZONE]: options.zone ?? "a", ...options.labels },
    },
    spec: {
      taints: options.taints ?? [],
      ...(options.unschedulable === true ? { unschedulable: true } : {}),
    },
    status: {
      allocatable: { cpu: "4", memory: "16Gi", pods: "58", ...options.allocatable },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

/** A pod that requests 100m, labelled `app: <name>`. */
export function testPod(
  name: string,
  spec: Partial<PodSpec> & { readonly requests?: ResourceAmounts } = {},
  labels: Readonly<Record<string, string>> = { app: name },
): Pod {
  const { requests = { cpu: "100m" }, ...rest } = spec;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}`, labels },
    spec: { containers: [{ name: "main", image: "pause", resources: { requests } }], ...rest },
  };
}

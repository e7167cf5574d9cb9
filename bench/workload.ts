/**
 * A workload is a file that our engine and upstream's both read. It holds instance types as `karpenter plan` reads them
 * (docs/reference/plan.md), NodePools as Kubernetes objects, and pods as templates with a count. `bench/upstream` reads
 * the same fields.
 */
import { readFileSync } from "node:fs";
import type { PodTemplateSpec } from "../src/apis/apps/kinds.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import { toPool } from "../src/apis/hub/to-pool.ts";
import type { NodePool } from "../src/apis/karpenter/nodepool.ts";
import { formatResources } from "../src/apis/resources.ts";
import { parseInstanceTypes } from "../src/cli/plan/instance-type-file.ts";
import { createPodProjection } from "../src/controllers/pod-projection.ts";
import type { InstanceType } from "../src/core/cloudprovider/instance-type.ts";
import type { NodeView } from "../src/core/state/node-view.ts";
import { readPod } from "../src/core/provisioning/batch/pod-class.ts";
import { readTypes } from "../src/core/provisioning/pools/type-sheet.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import { nodeView, pod } from "../src/testing/builders.ts";

export interface Workload {
  readonly name: string;
  readonly preferencePolicy: "Respect" | "Ignore";
  /** The instance types, in the form of the file for `--instance-types`. */
  readonly instanceTypes: readonly unknown[];
  readonly nodePools: readonly NodePool[];
  readonly pods: readonly PodGroup[];
  /** Number of existing nodes, each with ten pods and no free room. Upstream's program ignores it. */
  readonly fullNodes?: number;
}

/** `count` pods `<name>-0`, `<name>-1`, … in namespace default. */
export interface PodGroup {
  readonly name: string;
  readonly count: number;
  readonly template: PodTemplateSpec;
}

export function readWorkload(path: string): Workload {
  return JSON.parse(readFileSync(path, "utf8")) as Workload;
}

/** The engine's input for the workload, as the operator would have it in memory. */
export function inputOf(workload: Workload): SchedulingInput {
  const text = JSON.stringify(workload.instanceTypes);
  const { instanceTypes, wellKnownLabels } = parseInstanceTypes(workload.name, text);
  const pods = podsOf(workload.pods);
  readTypes(instanceTypes);
  for (const one of pods) readPod(one, { preferencePolicy: workload.preferencePolicy, wellKnownLabels });
  return {
    nowMs: 0,
    pods,
    pools: workload.nodePools.map((native) => ({ pool: toPool(native), instanceTypes, usage: {} })),
    nodes: Array.from({ length: workload.fullNodes ?? 0 }, (_, index) => fullNode(index)),
    daemonPods: [],
    namespaces: [{ metadata: { name: "default" } }],
    volumes: { claims: [], volumes: [], classes: [], csiNodes: [] },
    options: {
      preferencePolicy: workload.preferencePolicy,
      minValuesPolicy: "Strict",
      maxInstanceTypes: 600,
      wellKnownLabels,
    },
  };
}

function fullNode(index: number): NodeView {
  const name = `node-${index}`;
  const zone = `test-zone-${1 + (index % 3)}`;
  const pods = Array.from({ length: 10 }, (_, at) =>
    pod({ name: `${name}-${at}`, labels: { "my-label": "abcdefg"[(index + at) % 7] as string }, cpu: "1", memory: "2Gi", spec: { nodeName: name } }),
  );
  const labels = { "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name };
  return nodeView({ node: { name, labels, allocatable: { cpu: "10", memory: "20Gi", pods: "10" } }, pods });
}

/** The pods as the operator holds them: decoded one by one, with the fields that its mirror keeps. */
function podsOf(groups: readonly PodGroup[]): Pod[] {
  const project = createPodProjection();
  return groups.flatMap(({ name, count, template }) => {
    const text = JSON.stringify(template);
    return Array.from({ length: count }, (_, index) => {
      const { metadata, spec } = JSON.parse(text) as PodTemplateSpec;
      const podName = `${name}-${index}`;
      return project({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { ...metadata, name: podName, namespace: "default", uid: podName },
        spec,
      });
    });
  });
}

/** An instance type in the form of the file, as both engines read it. */
export function describeType(type: InstanceType): unknown {
  return {
    name: type.name,
    labels: type.labels,
    capacity: formatResources(type.capacity),
    overhead: formatResources(type.overhead),
    offerings: type.offerings.map(({ zone, capacityType, priceMicroUsd, available }) => ({
      zone,
      capacityType,
      priceMicroUsdPerHour: priceMicroUsd,
      available,
    })),
  };
}

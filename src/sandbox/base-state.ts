/**
 * The objects in a new cluster besides its nodes: the DaemonSets of a usual EKS cluster, a default
 * StorageClass, and Karpenter's own pod (whose log `kubectl logs` reads). The four daemon pods of a node
 * request cpu 155m and memory 120Mi together.
 */

import { DAEMON_SET } from "../apis/apps/kinds.ts";
import { NAMESPACE, SERVICE_ACCOUNT } from "../apis/core/kinds.ts";
import { POD } from "../apis/core/pod.ts";
import type { KubeObject } from "../apis/meta.ts";
import { STORAGE_CLASS } from "../apis/storage/kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";

export const KARPENTER_NAMESPACE = "karpenter";
export const KARPENTER_POD = "karpenter-0";

const DAEMONS: readonly {
  readonly name: string;
  readonly cpu?: string;
  readonly memory?: string;
}[] = [
  { name: "aws-node", cpu: "25m" },
  { name: "kube-proxy", cpu: "100m" },
  { name: "ebs-csi-node", cpu: "30m", memory: "120Mi" },
  { name: "eks-pod-identity-agent" },
];

/** Creates the objects of every sandbox, except nodes. Karpenter's pod runs on `baseNode`. */
export async function createBaseState(client: KubeClient, baseNode: string): Promise<void> {
  await client.create(NAMESPACE, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: KARPENTER_NAMESPACE },
  });
  await client.create(SERVICE_ACCOUNT, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "karpenter", namespace: KARPENTER_NAMESPACE },
  });
  for (const daemon of DAEMONS) await client.create(DAEMON_SET, daemonSet(daemon));
  await client.create(STORAGE_CLASS, {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: {
      name: "gp3",
      annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
    },
    provisioner: "ebs.csi.aws.com",
    volumeBindingMode: "WaitForFirstConsumer",
    parameters: { type: "gp3" },
  });
  await client.create(POD, controllerPod(baseNode));
}

function daemonSet({ name, cpu, memory }: (typeof DAEMONS)[number]) {
  const labels = { "k8s-app": name };
  const requests = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
  };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: "kube-system", labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          priorityClassName: "system-node-critical",
          tolerations: [{ operator: "Exists" as const }],
          containers: [
            { name, image: `public.ecr.aws/eks/${name}:latest`, resources: { requests } },
          ],
        },
      },
    },
  } satisfies KubeObject & { spec: unknown };
}

/** The pod of Karpenter. Its program runs outside the simulated cluster. */
export function controllerPod(nodeName: string) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: KARPENTER_POD,
      namespace: KARPENTER_NAMESPACE,
      labels: { "app.kubernetes.io/name": "karpenter", "app.kubernetes.io/instance": "karpenter" },
    },
    spec: {
      nodeName,
      serviceAccountName: "karpenter",
      priorityClassName: "system-cluster-critical",
      tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" as const }],
      containers: [
        {
          name: "controller",
          image: "karpenter-ts:sandbox",
          resources: { requests: { cpu: "100m", memory: "128Mi" } },
        },
      ],
    },
  };
}

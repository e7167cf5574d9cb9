/**
 * For tests of the simulated parts: an in-process API server with scheduler, kubelets and workload
 * controllers on a virtual clock, and short functions to apply and read objects.
 */
import { CUSTOM_RESOURCE_DEFINITION } from "../../apis/core/custom-resource-definition.ts";
import { NAMESPACE } from "../../apis/core/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import { createManager } from "../../kube/manager/manager.ts";
import { LiveMirrors } from "../../kube/mirror/mirrors.ts";
import { createRegistry } from "../apiserver/registry/create-registry.ts";
import type { SchedulerProfile } from "../kube-scheduler/profiles.ts";
import { schedulerController } from "../kube-scheduler/scheduler.ts";
import { draConfigDefinition } from "../kubelet/dra-config.ts";
import { draDriverController } from "../kubelet/dra-driver.ts";
import type { InstanceNode } from "../kubelet/join.ts";
import { kubeletControllers } from "../kubelet/kubelets.ts";
import { type KubeletOptions, Kubelets } from "../kubelet/machines.ts";
import { metricsDefinitions } from "../metrics/metrics-api.ts";
import type { PartDeps } from "../parts.ts";
import type { TraceEvent } from "../trace.ts";
import { workloadControllers } from "../workloads/workloads.ts";
import { bareApiServer } from "./bare-api-server.ts";

/** A cluster with some simulated parts, on virtual time. */
export interface PartsCluster {
  readonly clock: VirtualClock;
  readonly kube: KubeClient;
  readonly kubelets: Kubelets;
  readonly trace: readonly TraceEvent[];
  /** Adds a node that is registered and ready at once. */
  node(name: string, spec?: Partial<InstanceNode>): void;
  create<T extends KubeObject>(kind: Kind<T>, object: unknown): Promise<T>;
  get<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): Promise<T>;
  pods(): Promise<readonly Pod[]>;
  stop(): Promise<void>;
}

/** Starts a PartsCluster. For tests. */
export async function startParts(
  options: {
    readonly seed?: string;
    readonly kubelets?: KubeletOptions;
    /** Whether DRAConfig objects are served and their drivers run. */
    readonly draConfigs?: boolean;
    /** The scheduler's profiles. */
    readonly profiles?: readonly SchedulerProfile[];
  } = {},
): Promise<PartsCluster> {
  const clock = new VirtualClock();
  const random = new Random(options.seed ?? "parts");
  const aggregated = metricsDefinitions(SILENT);
  const server = bareApiServer({
    clock,
    registry: createRegistry({ kubernetesVersion: "v1.34.4", aggregated }),
    random: random.fork("apiserver"),
  });
  const user = { name: "admin", groups: ["system:masters"] };
  const client = createKubeClient(server.transport(user));
  const mirrors = new LiveMirrors({ client, clock, random: random.fork("mirrors"), log: SILENT });
  const trace: TraceEvent[] = [];
  const deps: PartDeps = {
    clock,
    random: random.fork("parts"),
    kube: mirrors.client,
    mirrors,
    log: SILENT,
    trace: (event) => trace.push(event),
  };
  const kubelets = new Kubelets(deps, options.kubelets);
  const manager = createManager({ mirrors, clock, random: random.fork("manager"), log: SILENT });
  for (const controller of [
    schedulerController(deps, options.profiles),
    ...kubeletControllers(kubelets, server.nodeLeases),
    ...workloadControllers(deps),
  ]) {
    manager.add(controller);
  }
  if (options.draConfigs === true) {
    await client.create(CUSTOM_RESOURCE_DEFINITION, draConfigDefinition() as never);
    manager.add(draDriverController(kubelets));
  }
  for (const name of ["default", "kube-system", "kube-node-lease"]) {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await client.create(NAMESPACE, namespace).catch(() => undefined);
  }
  await manager.start();
  return {
    clock,
    kube: client,
    kubelets,
    trace,
    node: (name, spec = {}) => kubelets.join({ ...machine(name), ...spec }),
    create: (kind, object) => client.create(kind, object as never),
    get: (kind, name, namespace = "default") =>
      client.get(kind, kind.namespaced ? { name, namespace } : { name }),
    pods: async () => (await client.list(POD)).items,
    stop: async () => {
      await manager.stop();
      mirrors.close();
      server.close();
    },
  };
}

function machine(name: string): InstanceNode {
  const amounts = { cpu: "4", memory: "16Gi", "ephemeral-storage": "20Gi", pods: "58" };
  return {
    name,
    providerID: `aws:///test-1a/i-${name}`,
    labels: { "topology.kubernetes.io/zone": "test-1a" },
    taints: [],
    capacity: amounts,
    allocatable: amounts,
    internalIp: "10.0.0.10",
    joinMs: 0,
    readyMs: 0,
  };
}

/** A Deployment of `replicas` pause pods that request `cpu`. */
export function deploymentOf(name: string, replicas: number, cpu = "100m", template = {}): unknown {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: "main", image: "pause:3.10", resources: { requests: { cpu } } }],
          ...template,
        },
      },
    },
  };
}

/**
 * A whole simulated cluster: API server, scheduler, kubelets, workload controllers and the cloud, with one clock and
 * one seed. It does not know Karpenter's decisions. Karpenter uses it like any client, through `transport`, and
 * answers its webhooks through `webhooks`.
 */

import type { KubeObject } from "../apis/meta.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createKubeClient } from "../kube/client/kube-client.ts";
import { createManager } from "../kube/manager/manager.ts";
import { LiveMirrors } from "../kube/mirror/mirrors.ts";
import type { Transport } from "../kube/transport/transport.ts";
import type { ApiServer, User } from "./apiserver/api-server.ts";
import { createApiServer } from "./apiserver/create-api-server.ts";
import { discoveryResponse } from "./apiserver/discovery/discovery.ts";
import { openapiResponse } from "./apiserver/openapi/openapi.ts";
import { createRegistry } from "./apiserver/registry/create-registry.ts";
import type { WebhookCaller } from "./apiserver/resource-definition.ts";
import { createBaseState } from "./base-state.ts";
import type { KubeletFacts } from "./ec2/boot/kubelet-facts.ts";
import { spotPool } from "./ec2/market/prices.ts";
import { createSimulatedAws, type SimulatedAws } from "./ec2/simulated-aws.ts";
import type { SchedulerProfile } from "./kube-scheduler/profiles.ts";
import { schedulerController } from "./kube-scheduler/scheduler.ts";
import { createDeviceClasses, devicesOfType } from "./kubelet/devices.ts";
import { draConfigDefinition } from "./kubelet/dra-config.ts";
import { draDriverController } from "./kubelet/dra-driver.ts";
import { type InstanceNode, registerNode } from "./kubelet/join.ts";
import { kubeletControllers } from "./kubelet/kubelets.ts";
import { Kubelets } from "./kubelet/machines.ts";
import type { LogSource } from "./log-lines.ts";
import { metricsDefinitions } from "./metrics/metrics-api.ts";
import { narrate } from "./narrator.ts";
import type { PartDeps } from "./parts.ts";
import { discoverResources } from "./scenario/resources.ts";
import type { Trace } from "./trace.ts";
import { workloadControllers } from "./workloads/workloads.ts";

/** The options of a sandbox. */
export interface SandboxOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly trace: Trace;
  readonly clusterName: string;
  readonly region: string;
  /** Whether the region sells an instance type; absent: it sells all. */
  readonly sells?: (instanceType: string) => boolean;
  /** The minor version, such as `1.34`. */
  readonly kubernetesVersion: string;
  /**
   * Whether machines have drivers that publish their devices. Such drivers also publish the devices of
   * DRAConfig objects.
   */
  readonly withDevices?: boolean;
  /** The profiles of kube-scheduler. Absent: `default-scheduler` with kube-scheduler's defaults. */
  readonly schedulerProfiles?: readonly SchedulerProfile[] | undefined;
  /** CustomResourceDefinitions and webhook configurations, in order. */
  readonly manifests: readonly KubeObject[];
  /** Answers the webhooks that the manifests name. */
  readonly webhooks: WebhookCaller;
  /** Lines of Karpenter's log, for `kubectl logs` of its pod. */
  readonly karpenterLog: LogSource;
  /** The price of an offering that AWS does not sell, in micro-dollars an hour. Absent or undefined: AWS's price. */
  readonly price?: (instanceType: string, zone: string, capacityType: string) => number | undefined;
}

/** A simulated cluster, without Karpenter. */
export interface Sandbox {
  readonly apiServer: ApiServer;
  readonly aws: SimulatedAws;
  /** The transport for Karpenter's requests to the API server. */
  readonly transport: Transport;
  /** A client with the rights of an administrator. */
  readonly client: KubeClient;
  /** Resolves when all kinds are served, the first objects exist, and all parts run. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const ADMIN: User = {
  name: "kubernetes-admin",
  groups: ["system:masters", "system:authenticated"],
};
const KARPENTER: User = {
  name: "system:serviceaccount:karpenter:karpenter",
  groups: ["system:serviceaccounts", "system:masters", "system:authenticated"],
};
const SYSTEM: User = { name: "system:sandbox", groups: ["system:masters", "system:authenticated"] };

/** Sends the program's name as the user agent, from which the API server takes the writer's name in managedFields. */
function calledBy(program: string, transport: Transport): Transport {
  return {
    send: (request) =>
      transport.send({ ...request, headers: { "user-agent": program, ...request.headers } }),
    close: () => transport.close(),
  };
}

const EBS_DRIVER = "ebs.csi.aws.com";

/** Puts the parts together. Nothing runs before the clock is advanced. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { clock, random, log } = options;
  const apiServer = apiServerOf(options);
  const client = createKubeClient(apiServer.transport(ADMIN));
  const mirrors = new LiveMirrors({
    client: createKubeClient(calledBy("kube-controller-manager", apiServer.transport(SYSTEM))),
    clock,
    random: random.fork("sandbox/mirrors"),
    log: log.named("sandbox"),
    trustsFirstLists: true,
  });
  const deps: PartDeps = {
    clock,
    random: random.fork("sandbox/parts"),
    kube: mirrors.client,
    mirrors,
    log: log.named("sandbox"),
  };
  const kubelets = new Kubelets(deps);
  const aws = awsOf(options, kubelets);
  apiServer.setLogSource(logSource(kubelets, options.karpenterLog));
  const manager = createManager({ mirrors, clock, random: random.fork("sandbox/manager"), log });
  for (const controller of [
    schedulerController(deps, options.schedulerProfiles),
    ...kubeletControllers(kubelets, apiServer.nodeLeases),
    ...workloadControllers(deps),
  ]) {
    manager.add(controller);
  }
  let stopTelling: () => void = () => undefined;

  return {
    apiServer,
    aws,
    client,
    transport: calledBy("karpenter", apiServer.transport(KARPENTER)),
    start: async () => {
      await applyAll(client, options.manifests);
      for (const machine of aws.nodeGroup)
        await registerNode(deps, { ...toInstanceNode(machine), readyMs: 0 });
      if (options.withDevices === true) {
        await createDeviceClasses(client);
        await applyAll(client, [draConfigDefinition()]);
        manager.add(draDriverController(kubelets));
      }
      await createBaseState(client, aws.nodeGroup[0]?.nodeName ?? "");
      // `narrate` opens more mirrors. It is called here, so that `manager.start` waits until they have synced.
      stopTelling = narrate({
        mirrors,
        clock,
        trace: options.trace,
        price: (type, zone, capacityType) =>
          options.price?.(type, zone, capacityType) ?? priceOf(aws, type, zone, capacityType),
      });
      await manager.start();
    },
    stop: async () => {
      stopTelling();
      await manager.stop();
      mirrors.close();
      apiServer.close();
    },
  };
}

function apiServerOf({ clock, random, log, webhooks, kubernetesVersion }: SandboxOptions) {
  const aggregated = metricsDefinitions(log.named("sandbox"));
  const registry = createRegistry({ kubernetesVersion, aggregated });
  return createApiServer({
    clock,
    random,
    registry,
    webhooks,
    kubernetesVersion: `v${kubernetesVersion}.0`,
    log: log.named("apiserver"),
    extraRoutes: [
      (path, headers) => discoveryResponse(registry, path, headers["accept"]),
      (path, headers) => openapiResponse(registry, path, headers["accept"]),
    ],
  });
}

/** The simulated AWS account. The kubelet of a launched instance joins the cluster, and leaves with the instance. */
function awsOf(options: SandboxOptions, kubelets: Kubelets): SimulatedAws {
  const { clock, random, region, clusterName, kubernetesVersion, trace, sells, withDevices } =
    options;
  return createSimulatedAws({
    clock,
    random: random.fork("sandbox/aws"),
    region,
    clusterName,
    kubernetesVersion,
    trace,
    ...(sells === undefined ? {} : { sells }),
    onInstance: (event) => {
      if (event.type === "terminated") kubelets.leave(event.nodeName);
      else if (event.type === "stopped") kubelets.halt(event.nodeName);
      else if (event.type === "rebooted") kubelets.reboot(event.nodeName);
      else if (event.kubelet !== undefined)
        kubelets.join(toInstanceNode(event.kubelet, withDevices));
    },
  });
}

/** Creates the objects of the manifests, in order. A CRD must come before the objects of its kind. */
async function applyAll(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  const resources = discoverResources(client);
  for (const object of manifests) {
    const kind = await resources.kind(object.apiVersion ?? "", object.kind ?? "");
    await client.create(kind, object);
  }
}

function toInstanceNode(kubelet: KubeletFacts, withDevices = false): InstanceNode {
  const instanceType = kubelet.labels["node.kubernetes.io/instance-type"] ?? "";
  return {
    name: kubelet.nodeName,
    providerID: kubelet.providerId,
    labels: kubelet.labels,
    taints: kubelet.taints as InstanceNode["taints"],
    capacity: kubelet.capacity,
    allocatable: kubelet.allocatable,
    internalIp: kubelet.internalIp,
    architecture: kubelet.architecture,
    operatingSystem: kubelet.operatingSystem,
    osImage: kubelet.osImage,
    kubeletVersion: kubelet.kubeletVersion,
    csiDrivers: [{ name: EBS_DRIVER, count: kubelet.attachableVolumes }],
    ...(withDevices ? { devices: devicesOfType(instanceType) } : {}),
  };
}

/** Logs of pods. The log of Karpenter's pod comes from this process, because no simulated container runs it. */
function logSource({ logs }: Kubelets, karpenter: LogSource): LogSource {
  const of = (podKey: string, container: string): LogSource =>
    karpenter.lines(podKey, container) === undefined ? logs : karpenter;
  return {
    lines: (podKey, container, previous) =>
      of(podKey, container).lines(podKey, container, previous),
    follow: (podKey, container, follower) =>
      of(podKey, container).follow(podKey, container, follower),
  };
}

function priceOf(
  aws: SimulatedAws,
  instanceType: string,
  zone: string,
  capacityType: string,
): number | undefined {
  if (capacityType === "spot") return spotPool(aws.state, instanceType, zone)?.priceMicroUsd;
  return aws.state.catalogue.facts.get(instanceType)?.onDemandMicroUsd;
}

/**
 * The cluster that upstream's suites need: served kinds, a tainted node, and the Deployment
 * `kube-system/karpenter` with a process behind its pod. The suites edit the Deployment's environment and wait for
 * its rollout. `cluster`: a real control plane with kwok; `sandbox`: this project's.
 * Upstream: test/pkg/environment/common/{setup,expectations}.go.
 */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DEPLOYMENT } from "../../src/apis/apps/kinds.ts";
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { POD } from "../../src/apis/core/pod.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { SILENT } from "../../src/base/log.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { createManager } from "../../src/kube/manager/manager.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import { draDriverController } from "../../src/sandbox/kubelet/dra-driver.ts";
import { Kubelets } from "../../src/sandbox/kubelet/machines.ts";
import { startControlPlane } from "../cluster/control-plane.ts";
import { playDeployment } from "../cluster/deployment-stand-in.ts";
import { installCustomKinds } from "../conformance/apiserver/custom-kinds.ts";
import { coreFolder, moduleFolder } from "./builds.ts";
import { ownAddress, podPortArguments } from "./pod-ports.ts";
import { openSandbox } from "./sandbox.ts";
import { schedulerConfig, schedulerPod } from "./scheduler-profile.ts";

const OUR_CRDS = fileURLToPath(new URL("../../deploy/crds/", import.meta.url));
const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** The same version as in test/cluster/kwok. */
const KWOK = "sigs.k8s.io/kwok@v0.7.0";
/** The annotation of nodes whose kubelet kwok plays. */
const KWOK_NODE = "kwok.x-k8s.io/node";
const NAMESPACE = "kube-system";
const READY_LIMIT_MS = 120_000;

export type Target = "cluster" | "sandbox";
export type Who = "ours" | "upstream";

export interface Bed {
  readonly kubeconfig: string;
  /** The folder with the logs of all programs. */
  readonly directory: string;
  close(): Promise<void>;
}

export interface BedOptions {
  readonly target: Target;
  readonly who: Who;
  /** The path of upstream's operator. Our operator runs from dist. */
  readonly operator?: string;
  /** Whether DRAConfig objects are served and turned into ResourceSlices. */
  readonly withDevices: boolean;
  /** The port of the operator's metrics. 0: they are not served. */
  readonly metricsPort: number;
  readonly tell: (line: string) => void;
}

/** Opens the cluster and starts the operator. Resolves when the operator holds its Lease. */
export async function openBed(options: BedOptions): Promise<Bed> {
  const directory = mkdtempSync(join(tmpdir(), "karpenter-upstream-"));
  const { withDevices } = options;
  const crds = crdFolders(options.who, directory);
  const opened =
    options.target === "sandbox"
      ? await openSandbox({
          directory,
          crds,
          schedulerConfig: schedulerConfig(directory),
          withDevices,
        })
      : await openCluster(directory, withDevices ? [...crds, draCrds(directory)] : crds, options);
  const { client, kubeconfig } = opened;
  const closers: (() => Promise<void>)[] = [opened.close];
  const close = async (): Promise<void> => {
    for (const one of closers.reverse()) await one();
  };
  try {
    if (options.target === "cluster") {
      const { metadata } = await client.create(NODE, systemNode());
      await client.create(POD, schedulerPod(metadata.name));
    }
    // The sandbox has these drivers already.
    if (options.target === "cluster" && withDevices) closers.push(await playDrivers(client));
    await client.create(DEPLOYMENT, deployment() as never);
    const standIn = playDeployment({
      client,
      namespace: NAMESPACE,
      labelSelector: "app.kubernetes.io/instance=karpenter",
      command: commandOf(options),
      env: { KUBECONFIG: kubeconfig },
      // For the pod proxy to the metrics (pod-ports.ts). The sandbox asks the ports of this machine by itself.
      address: options.target === "cluster" && options.metricsPort !== 0 ? ownAddress() : undefined,
      instead: { METRICS_PORT: String(options.metricsPort) },
      logFile: join(directory, "karpenter.log"),
    });
    closers.push(() => standIn.stop());
    await untilLed(client);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kubeconfig,
    directory,
    close: async () => {
      await close();
      rmSync(join(directory, "etcd"), { recursive: true, force: true });
    },
  };
}

/**
 * Runs the sandbox's drivers of DRAConfig objects for kwok's nodes. Upstream's own driver program cannot read the
 * kind, for the same reason as its suite (mends/dra_scheme_test.go.txt).
 */
async function playDrivers(client: KubeClient): Promise<() => Promise<void>> {
  const parts = { clock: new SystemClock(), random: new Random(1), log: SILENT };
  const mirrors = new LiveMirrors({ client, ...parts });
  const deps = { ...parts, kube: mirrors.client, mirrors };
  const isSimulated = ({ metadata }: Node) => KWOK_NODE in (metadata.annotations ?? {});
  const manager = createManager({ mirrors, ...parts });
  manager.add(draDriverController(new Kubelets(deps, { isSimulated })));
  await manager.start();
  return async () => {
    await manager.stop();
    mirrors.close();
  };
}

function commandOf({ who, operator }: BedOptions): readonly string[] {
  if (who === "upstream") return [operator ?? ""];
  return [process.execPath, MAIN, "controller", "--provider", "kwok"];
}

async function openCluster(
  directory: string,
  crds: readonly string[],
  { metricsPort, tell }: BedOptions,
): Promise<{ client: KubeClient; kubeconfig: string; close: () => Promise<void> }> {
  const stages = join(directory, "stages.yaml");
  writeFileSync(stages, `${KWOK_CONFIGURATION}---\n${kwokStages()}`);
  const ports = metricsPort === 0 ? {} : await podPortArguments(directory, metricsPort);
  const plane = await startControlPlane({
    directory,
    tell,
    extraArguments: {
      ...ports,
      kwok: [`--config=${stages}`, ...(ports.kwok ?? [])],
      "kube-scheduler": [`--config=${schedulerConfig(directory)}`],
    },
  });
  try {
    await installCustomKinds(plane.transport, new SystemClock(), crds);
  } catch (error) {
    await plane.stop();
    throw error;
  }
  return {
    client: createKubeClient(plane.transport),
    kubeconfig: plane.kubeconfig,
    close: () => plane.stop(),
  };
}

/**
 * By default, kwok renews the Leases of all Nodes with four workers. If a write takes longer than 40 ms, they are too
 * slow for 1,000 Nodes. Then healthy Nodes become NotReady, and no pod runs on them.
 */
const KWOK_CONFIGURATION = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  nodeLeaseParallelism: 16
  nodePlayStageParallelism: 16
  podPlayStageParallelism: 16
`;

/** The usual stages of kwok, and those of upstream's hack/kwok/stages, which replace stages of the same name. */
function kwokStages(): string {
  const folder = join(moduleFolder(KWOK), "kustomize", "stage");
  const folders = [
    ...["node/fast", "node/heartbeat-with-lease", "pod/fast"].map((name) => join(folder, name)),
    join(coreFolder(), "hack", "kwok", "stages"),
  ];
  const stages = new Map<string, string>();
  for (const at of folders) {
    for (const file of readdirSync(at).sort()) {
      const text = file.endsWith(".yaml") ? readFileSync(join(at, file), "utf8") : "";
      const name = /^kind: Stage$[\s\S]*?^ {2}name: (\S+)$/m.exec(text)?.[1];
      if (name === undefined) continue;
      // kwok's and upstream's pod-delete apply to different pods and differ in weight, so both stay.
      const key = name === "pod-delete" ? join(at, file) : name;
      const renamed = text.replace(/^ {2}name: pod-delete$/m, `  name: pod-delete-${stages.size}`);
      stages.set(key, renamed);
    }
  }
  return [...stages.values()].join("\n---\n");
}

/**
 * Folders of CRDs. For our operator: this project's, and upstream's for the kinds that are missing, because
 * upstream's clean-up lists every kind. For upstream's operator: upstream's only.
 */
function crdFolders(who: Who, directory: string): readonly string[] {
  const core = coreFolder();
  const theirs = [join(core, "pkg", "apis", "crds"), join(core, "kwok", "apis", "crds")];
  if (who === "upstream") return theirs;
  const ours = new Set(readdirSync(OUR_CRDS));
  const missing = join(directory, "crds");
  mkdirSync(missing);
  for (const folder of theirs) {
    for (const file of readdirSync(folder).filter((name) => !ours.has(name)))
      writeFileSync(join(missing, file), readFileSync(join(folder, file)));
  }
  return [OUR_CRDS, missing];
}

/** A folder with only upstream's definition of DRAConfig: upstream's own folder also has examples. */
function draCrds(directory: string): string {
  const file = "test.karpenter.sh_draconfigs.yaml";
  const folder = join(directory, "dra-crds");
  mkdirSync(folder);
  copyFileSync(
    join(coreFolder(), "dra-kwok-driver", "pkg", "apis", "crds", file),
    join(folder, file),
  );
  return folder;
}

function systemNode(): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "system-0",
      labels: { "kwok.x-k8s.io/node": "fake", "kubernetes.io/hostname": "system-0" },
      annotations: { "kwok.x-k8s.io/node": "fake" },
    },
    spec: { taints: [{ key: "CriticalAddonsOnly", effect: "NoSchedule" }] },
    status: {
      capacity: { cpu: "8", memory: "32Gi", pods: "110" },
      allocatable: { cpu: "8", memory: "32Gi", pods: "110" },
    },
  } as KubeObject;
}

/**
 * The settings with which upstream's CI installs its chart: gates on, preferences ignored (Makefile, .github of
 * core v1.15.0).
 */
const SETTINGS: Readonly<Record<string, string>> = {
  FEATURE_GATES: "NodeRepair=true,CapacityBuffer=true,StaticCapacity=true",
  PREFERENCE_POLICY: "Ignore",
  SYSTEM_NAMESPACE: NAMESPACE,
  LEADER_ELECTION_NAMESPACE: NAMESPACE,
  KUBERNETES_MIN_VERSION: "1.19.0-0",
  KARPENTER_SERVICE: "karpenter",
  LOG_LEVEL: "debug",
  METRICS_PORT: "0",
  HEALTH_PROBE_PORT: "0",
  DISABLE_WEBHOOK: "true",
  CPU_REQUESTS: "1000",
  MEMORY_LIMIT: "4000000000",
};

function deployment(): KubeObject {
  const labels = {
    "app.kubernetes.io/instance": "karpenter",
    "app.kubernetes.io/name": "karpenter",
  };
  const env = Object.entries(SETTINGS).map(([name, value]) => ({ name, value }));
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "karpenter", namespace: NAMESPACE, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          priorityClassName: "system-cluster-critical",
          tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }],
          containers: [{ name: "controller", image: "karpenter", env }],
        },
      },
    },
  } as KubeObject;
}

async function untilLed(client: KubeClient): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/karpenter-leader-election`;
  const deadlineMs = performance.now() + READY_LIMIT_MS;
  for (;;) {
    const holder = await client.raw({ method: "GET", path }).then(
      ({ body }) => (body as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? "",
      () => "",
    );
    if (holder.startsWith("karpenter-")) return;
    if (performance.now() > deadlineMs)
      throw new Error(`no operator holds its Lease after ${READY_LIMIT_MS / 1_000} s`);
    await sleep(250);
  }
}

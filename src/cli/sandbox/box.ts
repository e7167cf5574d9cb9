/**
 * A sandbox with Karpenter in it. Apart from tests, only this code knows both. It runs live on the machine's clock,
 * or as a simulation on a virtual clock.
 */
import { readdirSync, readFileSync } from "node:fs";
import { CONFIG_MAP, type ConfigMap } from "../../apis/core/kinds.ts";
import { answerWebhook, webhookConfigurations } from "../../apis/hub/admission.ts";
import { FACTS } from "../../apis/karpenter/facts.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { deepFreeze } from "../../base/json.ts";
import { Random } from "../../base/random.ts";
import type { Transport } from "../../kube/transport/transport.ts";
import {
  createOperator,
  type Operator,
  type OperatorDeps,
  type ProviderDoors,
} from "../../operator/create-operator.ts";
import { createLogger } from "../../operator/logging/logger.ts";
import { LOGGING_CONFIG } from "../../operator/logging/logging-config.ts";
import { rightsOf, underRights } from "../../operator/rights.ts";
import { isGateOn, type Options, parseOptions } from "../../operator/settings/parse-options.ts";
import { surgeNamespaces } from "../../operator/settings/surge-namespaces.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import { callObserver, observedCalls } from "../../providers/aws/call-metrics.ts";
import { kwokInstanceTypes } from "../../providers/kwok/instance-types.ts";
import { webhookCaller } from "../../sandbox/apiserver/admission/webhook-http.ts";
import { KARPENTER_NAMESPACE, KARPENTER_POD } from "../../sandbox/base-state.ts";
import { createSandbox, type Sandbox } from "../../sandbox/cluster.ts";
import type { SchedulerProfile } from "../../sandbox/kube-scheduler/profiles.ts";
import type { Trace } from "../../sandbox/trace.ts";
import { awsProviderOf, kwokProvider } from "../controller/providers.ts";
import { BUILD } from "../program/build.ts";
import { valuesOf } from "../program/manifest-text.ts";
import { LogBuffer } from "./log-buffer.ts";

/** Options of a sandbox with Karpenter. */
export interface BoxOptions {
  readonly clock: Clock;
  readonly seed: number;
  readonly trace: Trace;
  readonly provider: "aws" | "kwok";
  readonly clusterName: string;
  readonly region: string;
  /** Whether the region sells an instance type; absent: it sells all. */
  readonly sells?: (instanceType: string) => boolean;
  readonly kubernetesVersion: string;
  readonly logLevel: "debug" | "info" | "error";
  /** `beta-only` leaves the kinds of v1alpha5 out, as v0.33 did. Default `all`. */
  readonly generations?: "all" | "beta-only";
  /** The profiles of the simulated kube-scheduler. Default: `default-scheduler`, as Kubernetes has it. */
  readonly schedulerProfiles?: readonly SchedulerProfile[];
  /** Whether machines publish devices for dynamic resource allocation. Default: false. */
  readonly dra?: boolean;
  /** Wraps the simulated AWS, for example in the real SDK over loopback. Default: direct calls. */
  readonly connectAws?: (sandbox: Sandbox) => Promise<AwsApi>;
  /** Karpenter's transport to the API server. Default: one with exactly the rights of its chart. */
  readonly connectKube?: (sandbox: Sandbox) => Transport;
  /** Whether Karpenter publishes its settings and prices, for `explain` and `simulate`. Default: false. */
  readonly isAsked?: true;
  /** Receives Karpenter's traces. Default: they are not recorded. */
  readonly spans?: OperatorDeps["spans"];
  /** Settings by flag name. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** A sandbox with a running Karpenter. */
export interface Box {
  readonly sandbox: Sandbox;
  /** The Karpenter that runs now: a restart replaces it. */
  readonly operator: Operator;
  readonly karpenterLog: LogBuffer;
  /** Stops Karpenter and starts it again with an empty memory, like a new process. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the API server, the cloud and Karpenter. Resolves when Karpenter works. */
export async function openBox(options: BoxOptions): Promise<Box> {
  const { clock, clusterName, region } = options;
  const random = new Random(options.seed);
  const karpenterLog = new LogBuffer(`${KARPENTER_NAMESPACE}/${KARPENTER_POD}`, clock);
  const log = createLogger({
    clock,
    level: options.logLevel,
    encoding: "console",
    commit: BUILD.commit,
    write: (line) => karpenterLog.append(line),
  });
  const settings = settingsOf(options);
  const admission = {
    clusterName,
    acceptMinusOne: true,
    defaultInstanceProfile: settings.defaultInstanceProfile || undefined,
  };
  const sandbox = createSandbox({
    clock,
    random: random.fork("sandbox"),
    log,
    trace: options.trace,
    clusterName,
    region,
    ...(options.sells === undefined ? {} : { sells: options.sells }),
    kubernetesVersion: options.kubernetesVersion,
    schedulerProfiles: options.schedulerProfiles,
    manifests: [...crds(options.generations), ...webhookConfigurations()],
    webhooks: webhookCaller(async (config, review) =>
      answerWebhook(config.service?.path ?? "", review, admission),
    ),
    karpenterLog,
    ...(options.dra === undefined ? {} : { withDevices: options.dra }),
    ...(options.provider === "kwok" ? { price: kwokPrice } : {}),
  });
  await sandbox.start();
  await createConfigMaps(sandbox, options);
  const aws = (await options.connectAws?.(sandbox)) ?? sandbox.aws.api;
  const deps: Omit<OperatorDeps, "random"> = {
    clock,
    transport: (options.connectKube ?? withRights(options.provider, settings))(sandbox),
    log,
    options: settings,
    spans: options.spans,
    createProvider: (doors) =>
      options.provider === "kwok"
        ? kwokProvider(doors)
        : awsProviderOf(doors, observed(aws, doors), settings, region),
    ...KARPENTER,
  };
  let operator = createOperator({ ...deps, random: random.fork("operator") });
  await operator.start();
  let restarts = 0;
  return {
    sandbox,
    karpenterLog,
    get operator() {
      return operator;
    },
    restart: async () => {
      await operator.stop();
      operator = createOperator({ ...deps, random: random.fork(`operator/${++restarts}`) });
      await operator.start();
    },
    stop: async () => {
      await operator.stop();
      await sandbox.stop();
    },
  };
}

/** A transport with the rights of the chart's ServiceAccount. All other requests are refused. */
function withRights(
  provider: "aws" | "kwok",
  settings: Pick<Options, "surgeTimeout" | "surgeNamespaces" | "featureGates">,
): (sandbox: Sandbox) => Transport {
  const surges = {
    isOn: settings.surgeTimeout > 0,
    namespaces: surgeNamespaces(settings.surgeNamespaces),
  };
  const gate = "PodDeletionCostManagement";
  const rights = rightsOf(provider, surges, isGateOn(settings, gate) ? [gate] : []);
  return ({ transport }) => underRights(transport, rights, KARPENTER_NAMESPACE);
}

function kwokPrice(instanceType: string, zone: string, capacityType: string): number | undefined {
  return kwokInstanceTypes()
    .find(({ name }) => name === instanceType)
    ?.offerings.find((one) => one.zone === zone && one.capacityType === capacityType)
    ?.priceMicroUsd;
}

const KARPENTER = {
  version: BUILD.version,
  commit: BUILD.commit,
  namespace: KARPENTER_NAMESPACE,
  identity: KARPENTER_POD,
};

function settingsOf(options: BoxOptions): Options {
  return parseOptions(
    {
      "cluster-name": options.clusterName,
      "disable-leader-election": "true",
      // The installation creates a queue with the cluster's name.
      "interruption-queue": options.clusterName,
      // An installation of an older generation sets this setting, because its templates usually name no profile.
      "default-instance-profile": `KarpenterNodeInstanceProfile-${options.clusterName}`,
      ...options.flags,
    },
    {},
  );
}

/** Creates the ConfigMaps of the chart, so that users can patch them. */
async function createConfigMaps({ client }: Sandbox, options: BoxOptions): Promise<void> {
  await client.create(CONFIG_MAP, loggingConfigMap(options.logLevel));
  if (options.isAsked === true) await client.create(CONFIG_MAP, ours(FACTS));
}

function loggingConfigMap(level: string): ConfigMap {
  return {
    ...ours(LOGGING_CONFIG),
    data: { "zap-logger-config": JSON.stringify({ level }) },
  };
}

function ours(name: string): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      namespace: KARPENTER_NAMESPACE,
      labels: { "app.kubernetes.io/part-of": "karpenter" },
    },
  };
}

/** Kinds of v1alpha5 only. */
const ALPHA_ONLY: ReadonlySet<string> = new Set([
  "awsnodetemplates.karpenter.k8s.aws",
  "machines.karpenter.sh",
  "provisioners.karpenter.sh",
]);

/** The CRD files, exactly those of a real cluster. */
function crds(generations: BoxOptions["generations"] = "all"): readonly KubeObject[] {
  crdFiles ??= readCrds();
  return crdFiles.filter((crd) => generations === "all" || !ALPHA_ONLY.has(crd.metadata.name));
}

/** The CRDs. They are read once, because a test process may open hundreds of boxes. */
let crdFiles: readonly KubeObject[] | undefined;

function readCrds(): readonly KubeObject[] {
  const folder = new URL("../../../deploy/crds/", import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .flatMap((name) => readManifests(readFileSync(new URL(name, folder), "utf8"), name))
    .map(deepFreeze);
}

/**
 * Parses a YAML text. The API server checks whether the values are objects. Throws CliError that names `source`.
 */
export function readManifests(text: string, source = "manifests"): KubeObject[] {
  return valuesOf(source, text) as KubeObject[];
}

/** Counts each call as one attempt, both in process and over HTTP. */
function observed(aws: AwsApi, { clock, metrics }: ProviderDoors): AwsApi {
  return observedCalls(aws, clock, callObserver(metrics));
}

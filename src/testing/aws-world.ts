/**
 * The AWS provider in a small world for its tests: a fake API server, the simulated AWS in process, and one virtual
 * clock. Nothing else of the product runs. The tests create the claims that the planner would create.
 */

import { EC2_NODE_CLASS, type EC2NodeClass } from "../apis/aws/ec2nodeclass.ts";
import { claimKind } from "../apis/hub/claim.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { RequirementSpec } from "../apis/karpenter/nodepool.ts";
import type { Logger } from "../base/log.ts";
import type { Metrics } from "../base/metrics.ts";
import { Random } from "../base/random.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import type { CloudProvider, EndImpaired } from "../core/cloudprovider/cloud-provider.ts";
import { deleteSame } from "../kube/client/delete-same.ts";
import type { EventToPublish } from "../kube/events/events.ts";
import { createManager } from "../kube/manager/manager.ts";
import { LiveMirrors } from "../kube/mirror/mirrors.ts";
import type { AwsApi } from "../providers/aws/api/aws-api.ts";
import type { LaunchTemplateData } from "../providers/aws/api/launches.ts";
import type { AwsSettings } from "../providers/aws/parts.ts";
import { createAwsProvider } from "../providers/aws/provider.ts";
import {
  createSimulatedAws,
  type InstanceEvent,
  type SimulatedAws,
} from "../sandbox/ec2/simulated-aws.ts";
import { nodeClaim } from "./builders.ts";
import { type FakeKube, fakeKube } from "./fake-kube.ts";

/** The region of the simulated AWS in tests. */
export const REGION = "us-east-1";
/** The cluster's name in tests. */
export const CLUSTER = "karpenter-demo";

const FEW = /^(t3|t4g|c5n?|c6g|m5|m5d|m6g|r5|g4dn|g5|p3|inf2|p5|trn1)\./;

/** The log of the provider in a test. */
interface Told {
  readonly lines: string[];
  /** The log lines with their fields as JSON. */
  readonly said: readonly string[];
  /** The log lines with the level error. */
  readonly errors: readonly string[];
}

/** The AWS provider on a simulated account, for tests. */
export interface AwsWorld extends Told {
  readonly clock: VirtualClock;
  readonly kube: FakeKube;
  readonly aws: SimulatedAws;
  readonly api: AwsApi;
  readonly cloud: CloudProvider;
  readonly instances: InstanceEvent[];
  readonly events: EventToPublish[];
  /** Counters by name and labels, such as `interruption_received_messages_total spot_interrupted`. */
  readonly counts: ReadonlyMap<string, number>;
  /** Advances the clock until the promise is settled. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** Data of every launch template made so far. */
  templates(): readonly LaunchTemplateData[];
  stop(): Promise<void>;
}

interface Region {
  /** Sell all instance types. By default the region sells a few families only, which is faster. */
  readonly everyType?: boolean;
  /** The minor version of Kubernetes 1.x. Default 34. */
  readonly minor?: number;
  /** Changes the account before the provider first reads it. */
  readonly prepare?: (aws: SimulatedAws) => void;
}

/** Starts an AwsWorld; settings override the defaults. */
export async function awsWorld(
  settings: Partial<AwsSettings> = {},
  region: Region = {},
): Promise<AwsWorld> {
  const clock = new VirtualClock();
  const kube = fakeKube(clock);
  const { minor = 34 } = region;
  const version = { status: 200, headers: {}, body: { major: "1", minor: String(minor) } };
  // A test may replace `kube.patch` later.
  const patch = ((...given) => kube.patch(...given)) as FakeKube["patch"];
  const client = { ...kube, patch, raw: async () => version };
  const random = new Random("aws");
  const { log, ...told } = createEars();
  const instances: InstanceEvent[] = [];
  const events: EventToPublish[] = [];
  const counts = new Map<string, number>();
  const aws = createSimulatedAws({
    clock,
    random,
    region: REGION,
    clusterName: CLUSTER,
    kubernetesVersion: `1.${minor}`,
    onInstance: (event) => instances.push(event),
    ...(region.everyType === true ? {} : { sells: (type: string) => FEW.test(type) }),
  });
  region.prepare?.(aws);
  const mirrors = new LiveMirrors({ client, clock, random, log });
  const { cloud, controllers } = createAwsProvider({
    api: aws.api,
    kube: mirrors.client,
    mirrors,
    clock,
    log,
    events: { publish: (...published) => events.push(...published) },
    metrics: countingIn(counts),
    endImpaired: withoutBrake(kube),
    settings: {
      clusterName: CLUSTER,
      clusterEndpoint: "https://cluster.example",
      region: REGION,
      ...settings,
    },
  });
  const manager = createManager({ mirrors, clock, random, log });
  for (const controller of controllers) manager.add(controller);
  const started = manager.start();
  await clock.settle();
  await started;
  await clock.settle();
  return {
    clock,
    kube,
    aws,
    api: aws.api,
    cloud,
    instances,
    events,
    counts,
    ...told,
    settle: (promise) => settled(clock, promise),
    templates: () =>
      aws.journal
        .inputs<{ LaunchTemplateData: LaunchTemplateData }>("CreateLaunchTemplate")
        .map((input) => input.LaunchTemplateData),
    stop: async () => {
      await manager.stop();
      mirrors.close();
    },
  };
}

async function settled<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let done = false;
  const end = (): void => {
    done = true;
  };
  promise.then(end, end);
  await clock.advanceUntil(() => done, 60_000);
  return promise;
}

function withoutBrake(kube: FakeKube): EndImpaired {
  return async (claim, prepare) => {
    await prepare(claim);
    return deleteSame(kube, claimKind(claim), claim);
  };
}

/** A logger that keeps all lines. */
function createEars(): Told & { readonly log: Logger } {
  const lines: string[] = [];
  const errors: string[] = [];
  const said: string[] = [];
  const say = (message: string, fields: object = {}): void => {
    lines.push(message);
    said.push(`${message} ${JSON.stringify(fields)}`);
  };
  const error = (message: string, fields?: object): void => {
    errors.push(message);
    say(message, fields);
  };
  const log = { debug: say, info: say, warn: say, error, with: () => log, named: () => log };
  return { lines, errors, said, log };
}

/** Metrics that keep only counters. */
function countingIn(counts: Map<string, number>): Metrics {
  return {
    count: (name, labels, by = 1) => {
      const series = [name, ...Object.values(labels)].join(" ");
      counts.set(series, (counts.get(series) ?? 0) + by);
    },
    set: () => undefined,
    forget: () => undefined,
    read: () => () => undefined,
    observe: () => undefined,
  };
}

/** A node class that selects the resources of the simulated account, with AL2023 by default. */
export function ec2NodeClass(spec: Partial<EC2NodeClass["spec"]> = {}): EC2NodeClass {
  const terms = [{ tags: { "karpenter.sh/discovery": CLUSTER } }];
  return {
    apiVersion: "karpenter.k8s.aws/v1",
    kind: EC2_NODE_CLASS.kind,
    metadata: { name: "default" },
    spec: {
      amiSelectorTerms: [{ alias: "al2023@latest" }],
      subnetSelectorTerms: terms,
      securityGroupSelectorTerms: terms,
      role: `KarpenterNodeRole-${CLUSTER}`,
      ...spec,
    },
  };
}

/** A claim with these requirements and the node class `default`. */
export function awsClaim(
  requirements: readonly RequirementSpec[],
  options: Parameters<typeof nodeClaim>[0] = {},
): NodeClaim {
  const { status: _, ...claim } = nodeClaim({
    requirements,
    nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
    ...options,
  });
  return claim;
}

/**
 * What the acceptance tests of the beta seeds (S2, S3, S4) read from a world. Fleets and launch templates from the
 * AWS journal, instances and tags as `aws ec2 describe-…` shows them, raw requests as kubectl sends them. Also
 * small Deployments that make Karpenter launch nodes.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import type { BoxOptions } from "../../src/cli/sandbox/box.ts";
import type { KubeRequest } from "../../src/kube/transport/transport.ts";
import type { Tag } from "../../src/providers/aws/api/call.ts";
import type { DescribeInstancesOutput, Instance } from "../../src/providers/aws/api/instances.ts";
import type {
  CreateFleetInput,
  CreateLaunchTemplateInput,
  FleetOverride,
} from "../../src/providers/aws/api/launches.ts";
import type { SimulatedAws } from "../../src/sandbox/ec2/simulated-aws.ts";
import { seedObjects } from "../../src/testing/seed-manifests.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";

export const BETA = "karpenter.sh/v1beta1";
export const AWS_BETA = "karpenter.k8s.aws/v1beta1";
export const POOLS = "/apis/karpenter.sh/v1beta1/nodepools";
export const CLAIMS = "/apis/karpenter.sh/v1beta1/nodeclaims";
export const CLASSES = "/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses";
export const PROVISIONERS = "/apis/karpenter.sh/v1alpha5/provisioners";
export const MACHINES = "/apis/karpenter.sh/v1alpha5/machines";
export const TEMPLATES = "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates";
export const NODES = "/api/v1/nodes";
export const PODS = "/api/v1/namespaces/default/pods";
export const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const EVENTS = "/api/v1/namespaces/default/events";

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
export type Json = any;

interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** Requests to the API server, as kubectl sends them. */
interface Requests {
  /** Sends one request; a refusal is returned, not thrown. */
  send(
    method: KubeRequest["method"],
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** The object or list at a path. Throws if it does not exist. */
  read(path: string): Promise<Json>;
  items(path: string): Promise<readonly Json[]>;
  /** Patches the object, as `kubectl patch --type merge` does. */
  patch(path: string, body: unknown): Promise<Answer>;
}

/** What the AWS CLI shows, and which requests AWS got. */
interface AwsView {
  fleets(): readonly CreateFleetInput[];
  templates(): readonly CreateLaunchTemplateInput[];
  /** Karpenter's own instances that are not terminated. */
  instances(): Promise<readonly Instance[]>;
  tags(id: string): Promise<Readonly<Record<string, string>>>;
  /** Volumes attached to an instance, by device. */
  volumes(instanceId: string): Promise<readonly VolumeView[]>;
}

/** A cluster and its AWS account as a user with kubectl and the AWS CLI sees them. */
export interface Account extends Requests, AwsView {
  readonly world: TestWorld;
  /** Creates a Deployment whose pods request `cpu`. */
  deploy(name: string, replicas: number, pod?: PodWish): Promise<void>;
  /** Waits until `count` pods of a Deployment run. */
  running(name: string, count: number, limitMs?: number): Promise<readonly Json[]>;
  /** Events about objects of a kind, as `reason: message`. */
  events(kind: string): Promise<readonly string[]>;
  /** Log lines that contain the text. */
  said(text: string): readonly string[];
}

interface VolumeView {
  readonly VolumeId: string;
  readonly Size: number;
  readonly VolumeType: string;
  readonly Encrypted?: boolean;
}

export interface PodWish {
  readonly cpu?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The usual instance types and those that the seeds name. Enough for tests that do not check which types are
 * requested.
 */
function isNamed(type: string): boolean {
  return isUsual(type) || type.startsWith("t3.");
}

/** For tests that check which instance types are requested: the region sells all types. */
export const WHOLE_REGION: Partial<BoxOptions> = { sells: () => true };

export async function openAccount(options: Partial<BoxOptions> = {}): Promise<Account> {
  const world = await openWorld({ sells: isNamed, ...options });
  const requests = requestsTo(world);
  const { items } = requests;
  return {
    world,
    ...requests,
    ...viewOf(world.box.sandbox.aws),
    deploy: async (name, replicas, wish = {}) => {
      await world.apply(deployment(name, replicas, wish));
    },
    running: async (name, count, limitMs) => {
      let pods: readonly Json[] = [];
      await world.until(
        `${count} pods of ${name} run`,
        async () => {
          pods = (await items(`${PODS}?labelSelector=app=${name}`)).filter(
            ({ status }) => status?.phase === "Running",
          );
          return pods.length === count;
        },
        limitMs,
      );
      return pods;
    },
    events: async (kind) => {
      const all = await items(EVENTS);
      return all
        .filter(({ involvedObject }) => involvedObject.kind === kind)
        .map(({ reason, message }) => `${reason}: ${message}`);
    },
    said: (text) => world.log().filter((line) => line.includes(text)),
  };
}

function requestsTo({ box, clock }: TestWorld): Requests {
  async function send(
    method: KubeRequest["method"],
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const answer = await box.sandbox.transport.send({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    });
    await clock.settle();
    return { status: answer.status, body: answer.body };
  }

  async function read(path: string): Promise<Json> {
    const { status, body } = await send("GET", path);
    if (status !== 200) throw new Error(`GET ${path}: ${body?.message}`);
    return body;
  }

  return {
    send,
    read,
    items: async (path) => (await read(path)).items,
    patch: (path, body) =>
      send("PATCH", path, body, { "content-type": "application/merge-patch+json" }),
  };
}

function viewOf(aws: SimulatedAws): AwsView {
  return {
    fleets: () => aws.journal.inputs<CreateFleetInput>("CreateFleet"),
    templates: () => aws.journal.inputs<CreateLaunchTemplateInput>("CreateLaunchTemplate"),
    instances: async () => {
      const found = (await aws.call("ec2", "DescribeInstances", {
        Filters: [
          { Name: "tag-key", Values: ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"] },
          { Name: "instance-state-name", Values: ["pending", "running"] },
        ],
      })) as DescribeInstancesOutput;
      return found.Reservations.flatMap(({ Instances }) => Instances ?? []);
    },
    tags: async (id) => {
      const found = (await aws.call("ec2", "DescribeTags", {
        Filters: [{ Name: "resource-id", Values: [id] }],
      })) as { readonly Tags: readonly Tag[] };
      return tagMap(found.Tags);
    },
    volumes: async (instanceId) => {
      const found = (await aws.call("ec2", "DescribeVolumes", {
        Filters: [{ Name: "attachment.instance-id", Values: [instanceId] }],
      })) as { readonly Volumes: readonly VolumeView[] };
      return found.Volumes;
    },
  };
}

/** Runs a story in a world of its own. */
export async function inAccount(
  story: (account: Account) => Promise<void>,
  options: Partial<BoxOptions> = {},
): Promise<void> {
  const account = await openAccount(options);
  try {
    await story(account);
  } finally {
    await account.world.close();
  }
}

export function deployment(name: string, replicas: number, wish: PodWish = {}): KubeObject {
  const { cpu = "1", requests, spec, annotations } = wish;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: {
          labels: { app: name },
          ...(annotations === undefined ? {} : { annotations }),
        },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: "app",
              image: "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
              resources: { requests: requests ?? { cpu } },
            },
          ],
          ...spec,
        },
      },
    },
  } as KubeObject;
}

/** The overrides of a fleet request, of all configurations together. */
export function overrides(fleet: CreateFleetInput | undefined): readonly FleetOverride[] {
  return (fleet?.LaunchTemplateConfigs ?? []).flatMap((config) => config.Overrides);
}

export function tagMap(tags: readonly Tag[] | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((tags ?? []).map(({ Key, Value }) => [Key, Value ?? ""]));
}

/** The user data of a launch template as text. */
export function userDataOf(template: CreateLaunchTemplateInput | undefined): string {
  const text = template?.LaunchTemplateData.UserData ?? "";
  return Buffer.from(text, "base64").toString("utf8");
}

/** The first object of a seed's file, changed by a deep merge; `null` removes a field. */
export function seed(path: string, change: Json = {}, name?: string): Json {
  const object = merge(seedObjects(path)[0], change);
  return name === undefined ? object : merge(object, { metadata: { name } });
}

function merge(base: Json, change: Json): Json {
  if (change === null || typeof change !== "object" || Array.isArray(change)) return change;
  const result = { ...(base !== null && typeof base === "object" ? base : {}) };
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

export function conditionOf(object: Json, type: string): Json {
  return object.status?.conditions?.find((one: Json) => one.type === type);
}

/**
 * Reads everything for a plan from an API server. Kinds that are not served or may not be read are left out with a
 * note, except for those that every plan needs.
 */
import {
  DAEMON_SET,
  DEPLOYMENT,
  JOB,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  STATEFUL_SET,
} from "../../apis/apps/kinds.ts";
import { CAPACITY_BUFFER, POD_TEMPLATE } from "../../apis/autoscaling/capacity-buffer.ts";
import { AWS_NODE_TEMPLATE } from "../../apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import {
  EVENT,
  NAMESPACE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  RESOURCE_QUOTA,
  SERVICE,
} from "../../apis/core/kinds.ts";
import { LIMIT_RANGE } from "../../apis/core/limit-range.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_OVERLAY } from "../../apis/karpenter/nodeoverlay.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { PROVISIONER } from "../../apis/karpenter/provisioner.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { RUNTIME_CLASS } from "../../apis/node/runtime-class.ts";
import { POD_DISRUPTION_BUDGET, PRIORITY_CLASS } from "../../apis/policy/kinds.ts";
import {
  DEVICE_CLASS,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
} from "../../apis/resource/kinds.ts";
import { CSI_NODE, STORAGE_CLASS } from "../../apis/storage/kinds.ts";
import { deepFreeze } from "../../base/json.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import type { KeepOptions, KubeClient, KubeList } from "../../kube/client/client.ts";
import { ConnectionError, isForbidden, isNotServed, KubeError } from "../../kube/errors.ts";
import { createPodPageReader } from "../../kube/protobuf/pod-frames.ts";
import { EVENT_REASONS } from "../answers/event-facts.ts";
import { installDefinitions } from "../checks/checks.ts";
import { accessProblem } from "../program/access-problem.ts";
import { CliError } from "../program/cli-error.ts";
import type { Found } from "./documents.ts";

/** Kinds without which no plan is possible. */
const NEEDED: readonly Kind[] = [POD, NODE];
const USEFUL: readonly Kind[] = [
  DAEMON_SET,
  EC2_NODE_CLASS,
  AWS_NODE_TEMPLATE,
  PERSISTENT_VOLUME_CLAIM,
  PERSISTENT_VOLUME,
  STORAGE_CLASS,
  CSI_NODE,
  POD_DISRUPTION_BUDGET,
  PRIORITY_CLASS,
  NAMESPACE,
  SERVICE,
  LIMIT_RANGE,
  RESOURCE_QUOTA as Kind,
  RUNTIME_CLASS,
  NODE_OVERLAY,
  CAPACITY_BUFFER as Kind,
  ...POOL_KINDS,
  ...CLAIM_KINDS,
];
/** Kinds whose selectors the default topology spread uses, besides Services. */
export const SELECTING: readonly Kind[] = [REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER];
/** Kinds for pods with resource claims. */
export const DEVICE_KINDS = [
  RESOURCE_SLICE,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  DEVICE_CLASS,
] as readonly Kind[];
/** Kinds that a CapacityBuffer can refer to. */
const BUFFERED = [POD_TEMPLATE, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, JOB] as readonly Kind[];
/** The only version in clusters with an older Karpenter. */
const OLDER_VERSION = "v1beta1";

/** The time of the API server's clock. Undefined if it does not tell. */
export async function timeOf(client: Pick<KubeClient, "raw">): Promise<number | undefined> {
  try {
    const { headers } = await client.raw({ method: "GET", path: "/version" });
    const ms = Date.parse(headers["date"] ?? "");
    return Number.isNaN(ms) ? undefined : ms;
  } catch (error) {
    if (error instanceof KubeError || error instanceof ConnectionError) return undefined;
    throw error;
  }
}

/**
 * Reads the cluster. Workloads are read only if `further` (additional kinds) has them, because their pods exist
 * already. Throws CliError if the server cannot be reached.
 */
export async function readCluster(
  client: Pick<KubeClient, "list">,
  further: readonly Kind[] = [],
): Promise<{ readonly found: readonly Found[]; readonly notes: readonly string[] }> {
  const reading: Reading = { client, notes: [], unserved: [] };
  const lists = await Promise.all(
    [...NEEDED, ...USEFUL, ...further].map((kind) => readKind(kind, reading)),
  );
  const found = lists.flat();
  const notes = [...reading.notes, ...unservedNotes(found, reading.unserved)];
  if (!found.some(({ object }) => object.kind === CAPACITY_BUFFER.kind))
    return { found, notes: notes.sort() };
  const asked = BUFFERED.filter(({ kind }) => !further.some((one) => one.kind === kind));
  const more = await Promise.all(asked.map((kind) => readKind(kind, { ...reading, notes })));
  return { found: [...found, ...more.flat()], notes: notes.sort() };
}

/** One reading of the cluster: what it leaves out, and the kinds that the API server does not serve. */
interface Reading {
  readonly client: Pick<KubeClient, "list">;
  readonly notes: string[];
  readonly unserved: Kind[];
}

/** Notes about kinds that Karpenter cannot work without, and that the API server does not serve. */
function unservedNotes(found: readonly Found[], unserved: readonly Kind[]): string[] {
  const has = (kind: string) => found.some(({ object }) => object.kind === kind);
  const classes = found.map(({ object }) => classKindOf(object));
  const isNeeded = ({ kind }: Kind): boolean => {
    if (kind === EC2_NODE_CLASS.kind) return classes.includes(kind);
    // A cluster of an older Karpenter has Provisioners and Machines instead.
    return (kind === NODE_POOL.kind || kind === NODE_CLAIM.kind) && !has(PROVISIONER.kind);
  };
  return unserved
    .filter(isNeeded)
    .map(
      ({ kind, plural, group }) =>
        `the API server does not serve ${kind} (${plural}.${group}), so no node can be launched; install the definitions, then apply the objects again: ${installDefinitions("karpenter")}`,
    );
}

function classKindOf({ kind, ...object }: KubeObject): string | undefined {
  if (kind !== NODE_POOL.kind) return undefined;
  return (object as NodePool).spec.template?.spec?.nodeClassRef?.kind;
}

async function readKind(kind: Kind, { client, notes, unserved }: Reading): Promise<Found[]> {
  try {
    return await listed(client, kind);
  } catch (error) {
    throwAccessProblem(error);
    if (!(error instanceof KubeError)) throw error;
    if (NEEDED.includes(kind)) {
      throw new CliError(`--cluster: ${kind.plural} cannot be read: ${error.message}`);
    }
    if (isNotServed(error)) {
      unserved.push(kind);
      return [];
    }
    if (!isForbidden(error)) throw new CliError(`--cluster: ${kind.plural}: ${error.message}`);
    notes.push(`left out, as reading them is forbidden: ${kind.plural}`);
    return [];
  }
}

/** Throws CliError if the server cannot be reached or does not know the user. */
function throwAccessProblem(error: unknown): void {
  const problem = accessProblem(error);
  if (problem !== undefined) throw new CliError(`--cluster: ${problem.message}`);
}

/** ConfigMaps, read by `read`. Throws CliError if the server cannot be reached or refuses. */
export async function readConfigMaps(read: () => Promise<Found[]>): Promise<Found[]> {
  try {
    return await read();
  } catch (error) {
    throwAccessProblem(error);
    if (!(error instanceof KubeError)) throw error;
    throw new CliError(`--cluster: configmaps cannot be read: ${error.message}`);
  }
}

async function listed(client: Pick<KubeClient, "list">, kind: Kind): Promise<Found[]> {
  try {
    return await read(client, kind);
  } catch (error) {
    const mayBeOlder = kind.version === "v1" && kind.group.startsWith("karpenter.");
    if (!mayBeOlder || !isNotServed(error)) throw error;
    return read(client, { ...kind, version: OLDER_VERSION });
  }
}

async function read(client: Pick<KubeClient, "list">, kind: Kind): Promise<Found[]> {
  return (await itemsOf(client, kind)).map((object) => ({
    where: `${kind.kind} ${object.metadata.name} of the cluster`,
    object,
    live: true,
  }));
}

async function itemsOf(
  client: Pick<KubeClient, "list">,
  kind: Kind,
): Promise<readonly KubeObject[]> {
  if (kind === POD) return (await podsOf(client)).items;
  if (kind !== EVENT) return (await client.list(kind, keeping(kind))).items;
  const lists = await Promise.all(
    EVENT_REASONS.map((reason) =>
      client.list(kind, { ...keeping(kind), fieldSelector: `reason=${reason}` }),
    ),
  );
  return lists.flatMap(({ items }) => items);
}

/**
 * Reads pods reduced to the fields that the controller's mirror keeps, because pods are most of a large cluster.
 */
function podsOf(client: Pick<KubeClient, "list">): Promise<KubeList<Pod>> {
  const keep = createPodProjection();
  return client.list(POD, { keep, readPage: createPodPageReader(keep) });
}

/** Keeps managedFields for pools only: they show who last wrote the spec. */
function keeping({ plural }: Kind): KeepOptions<KubeObject> {
  if (POOL_KINDS.some((one) => one.plural === plural)) return {};
  return {
    keep: ({ metadata: { managedFields: _, ...metadata }, ...object }) =>
      deepFreeze({ ...object, metadata }),
  };
}

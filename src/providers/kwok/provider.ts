/**
 * The kwok cloud: an instance is a Node object that this provider creates through the Kubernetes API,
 * and something else (kwok, or the sandbox's kubelets) keeps it Ready. Runs on any cluster.
 * upstream: kwok/cloudprovider/cloudprovider.go
 */

import { NODE, type Node } from "../../apis/core/node.ts";
import { CLAIM_KINDS, poolIdOfLabels, toClaim } from "../../apis/hub/claim.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import {
  ARCH_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  HOSTNAME_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  OS_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
  UNREGISTERED_NO_EXECUTE_TAINT,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import { formatResources, subtractResources } from "../../apis/resources.ts";
import { type Clock, fromRfc3339, type Timer } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Logger } from "../../base/log.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { Random } from "../../base/random.ts";
import type { CloudProvider } from "../../core/cloudprovider/cloud-provider.ts";
import {
  InsufficientCapacityError,
  NodeClaimNotFoundError,
  NodeClassNotReadyError,
} from "../../core/cloudprovider/errors.ts";
import type { InstanceType, Offering } from "../../core/cloudprovider/instance-type.ts";
import { allows } from "../../core/scheduling/requirement.ts";
import { Requirements } from "../../core/scheduling/requirements.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { deleteIfThere } from "../../kube/client/delete-if-there.ts";
import { deleteSame } from "../../kube/client/delete-same.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";
import { KWOK_WELL_KNOWN_LABELS, kwokInstanceTypes } from "./instance-types.ts";
import { KWOK_REPAIR_POLICIES } from "./repair-policies.ts";

const PROVIDER_ID_PREFIX = "kwok://";
/** What kwok itself selects nodes by: annotation and label of a node it shall play. */
const KWOK_NODE_KEY = "kwok.x-k8s.io/node";
/** Until a Node that could not be created is tried again. */
const RETRY_MS = 5_000;

/** What the kwok provider needs. */
export interface KwokDeps {
  readonly kube: KubeClient;
  readonly mirrors: Mirrors;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Instances without a Node yet. Deleted ones stay here until their Node can no longer appear. */
interface Booting {
  add(node: Node, delayMs: number): void;
  get(name: string): Node | undefined;
  /** Whether it was still to come. */
  giveUp(name: string): boolean;
  /** Nothing is tried any more. What boots is the next controller's. */
  stop(): void;
}

/** `stop` ends nodes that wait for their registration delay. */
export interface KwokProvider extends CloudProvider {
  stop(): void;
}

/** A provider whose instances are Node objects only. upstream: kwok/cloudprovider. */
export function createKwokProvider(deps: KwokDeps): KwokProvider {
  const nodes = deps.mirrors.of(NODE);
  // Opened at the start, so that it is filled before a launch asks how long a Node has to wait.
  deps.mirrors.of(KWOK_NODE_CLASS);
  const booting = createBooting(deps);
  let hasBootedOn = false;

  async function create(
    claim: NodeClaim,
    overlay: Parameters<CloudProvider["create"]>[1] = (types) => types,
  ): Promise<NodeClaim> {
    checkReady(deps, claim);
    const types = overlay(kwokInstanceTypes());
    const choice = cheapest(claim, types);
    if (choice === undefined) {
      throw new InsufficientCapacityError(
        "no available offering satisfies the claim's requirements",
      );
    }
    const node = nodeOf(claim, choice, nameOf(claim));
    const boots = booting.get(node.metadata.name);
    if (boots !== undefined) return adopt(claim, boots, choice.type, types);
    const delayMs = delayMsOf(deps, claim);
    if (delayMs > 0) booting.add(node, delayMs);
    else return adopt(claim, await createOnce(deps.kube, node), choice.type, types);
    return hydrate(claim, node, choice.type);
  }

  return {
    name: "kwok",
    nodeClassKinds: [KWOK_NODE_CLASS],
    wellKnownLabels: KWOK_WELL_KNOWN_LABELS,
    repairPolicies: KWOK_REPAIR_POLICIES,
    create,
    delete: async (claim) => {
      const node = await find(deps, booting, claim.status?.providerID ?? "");
      if (!booting.giveUp(node.metadata.name)) await deleteSame(deps.kube, NODE, node);
    },
    reboot: async (claim, operation) => {
      const node = await find(deps, booting, claim.status?.providerID ?? "");
      const nodeInfo = { ...node.status?.nodeInfo, bootID: `kwok-${operation}` };
      await patchObject(deps.kube, NODE, node, { ...node, status: { ...node.status, nodeInfo } });
    },
    get: async (providerId) => claimOf(await find(deps, booting, providerId)),
    // Booting instances are left out: they have no age yet and must not count as leaked.
    list: async () => {
      if (!hasBootedOn) bootOn(deps, booting);
      hasBootedOn = true;
      return (
        nodes
          .list()
          .filter((node) => node.spec?.providerID?.startsWith(PROVIDER_ID_PREFIX))
          // Others make kwok nodes, too.
          .filter(({ metadata }) => poolIdOfLabels(metadata.labels) !== undefined)
          .map(claimOf)
      );
    },
    getInstanceTypes: async () => kwokInstanceTypes(),
    quotaRoom: () => new Map(),
    labelsOfRunning: async () => ({}),
    isDrifted: async () => undefined,
    // A claim that asks again finds its Node by name.
    takeOver: async () => undefined,
    isTakenBack: () => false,
    stop: () => booting.stop(),
  };
}

/**
 * The instance, unless it is gone: a Node that is being deleted counts as gone. That there is no Node is read live:
 * here that is how an instance ends.
 */
async function find(deps: KwokDeps, booting: Booting, providerId: string): Promise<Node> {
  const name = providerId.slice(PROVIDER_ID_PREFIX.length);
  if (!providerId.startsWith(PROVIDER_ID_PREFIX))
    throw new NodeClaimNotFoundError(`instance ${providerId} not found`);
  const known = booting.get(name) ?? deps.mirrors.of(NODE).get(name);
  const node = known ?? (await getIfThere(deps.kube, NODE, { name }));
  if (node === undefined || node.metadata.deletionTimestamp !== undefined)
    throw new NodeClaimNotFoundError(`instance ${providerId} not found`, { isEnded: true });
  return node;
}

/** Throws as upstream does for a class that is not there or not Ready: the claim is deleted then. */
function checkReady({ mirrors }: KwokDeps, { spec }: NodeClaim): void {
  const { name } = spec.nodeClassRef;
  const nodeClass = mirrors.of(KWOK_NODE_CLASS).get(name);
  if (nodeClass === undefined || nodeClass.metadata.deletionTimestamp !== undefined)
    throw new InsufficientCapacityError(`resolving node class, KWOKNodeClass "${name}" not found`);
  const ready = condition(nodeClass, "Ready");
  if (ready?.status === "False")
    throw new NodeClassNotReadyError(
      `KWOKNodeClass ${name} is not ready: ${ready.message || ready.reason}`,
    );
}

function delayMsOf({ mirrors }: KwokDeps, { spec }: NodeClaim): number {
  const nodeClass = mirrors.of(KWOK_NODE_CLASS).get(spec.nodeClassRef.name);
  const delay = nodeClass?.spec?.nodeRegistrationDelay;
  return delay === undefined ? 0 : (parseDuration(delay) ?? 0);
}

/**
 * Boots the nodes that an earlier controller launched and left booting, each when its delay is over. Called once, when
 * this process becomes the leader: later a missing Node means that it was deleted, which is how an instance ends here.
 * A class without a delay creates its Node at launch, so there is nothing to boot.
 */
function bootOn(deps: KwokDeps, booting: Booting): void {
  const { mirrors, clock } = deps;
  const claims = CLAIM_KINDS.flatMap((kind) => mirrors.of(kind).list()).map(toClaim);
  for (const claim of claims.filter(isComing)) {
    const delayMs = delayMsOf(deps, claim);
    if (delayMs === 0) continue;
    const name = (claim.status?.providerID ?? "").slice(PROVIDER_ID_PREFIX.length);
    if (booting.get(name) !== undefined || mirrors.of(NODE).get(name) !== undefined) continue;
    const choice = chosen(claim);
    const launchedMs = fromRfc3339(condition(claim, "Launched")?.lastTransitionTime) ?? 0;
    const leftMs = launchedMs + delayMs - clock.now();
    if (choice !== undefined) booting.add(nodeOf(claim, choice, name), Math.max(0, leftMs));
  }
}

interface Boot {
  readonly node: Node;
  /** The timer of the wait. Absent: an attempt is under way. */
  timer: Timer | undefined;
  /** The Node may be stored, even if the attempt failed: the answer may have been lost. */
  isTried: boolean;
  isGivenUp: boolean;
}

/**
 * A Node that cannot be created is tried again until its claim is given up, and from then on until it is sure that there
 * is none: until then the instance is not gone.
 */
function createBooting({ kube, clock, log }: KwokDeps): Booting {
  const booting = new Map<string, Boot>();
  let stopped = false;

  function wait(boot: Boot, delayMs: number): void {
    boot.timer = stopped ? undefined : clock.after(delayMs, () => begin(boot));
  }

  function begin(boot: Boot): void {
    mustNotFail(settle(boot), "booting a kwok node");
  }

  /** Creates the Node, or deletes it if the instance was deleted. */
  async function settle(boot: Boot): Promise<void> {
    const { node } = boot;
    const { name } = node.metadata;
    boot.timer = undefined;
    boot.isTried = true;
    try {
      if (!boot.isGivenUp) await createOnce(kube, node);
      // Perhaps while it came.
      if (boot.isGivenUp) await deleteIfThere(kube, NODE, node);
      booting.delete(name);
    } catch (error) {
      const doing = boot.isGivenUp ? "deleting" : "creating";
      log.error(`failed ${doing} kwok node`, { Node: { name }, error: String(error) });
      wait(boot, RETRY_MS);
    }
  }

  return {
    add: (node, delayMs) => {
      const boot: Boot = { node, timer: undefined, isTried: false, isGivenUp: false };
      booting.set(node.metadata.name, boot);
      wait(boot, delayMs);
    },
    get: (name) => booting.get(name)?.node,
    giveUp: (name) => {
      const boot = booting.get(name);
      if (boot === undefined) return false;
      const wasGivenUp = boot.isGivenUp;
      boot.isGivenUp = true;
      if (!boot.isTried) {
        boot.timer?.cancel();
        booting.delete(name);
      } else if (boot.timer !== undefined && !wasGivenUp) {
        boot.timer.cancel();
        begin(boot);
      }
      return true;
    },
    stop: () => {
      stopped = true;
      for (const { timer } of booting.values()) timer?.cancel();
    },
  };
}

/** What a controller that crashed before it could say so had made already is the same instance. */
async function createOnce(kube: KubeClient, node: Node): Promise<Node> {
  try {
    return await kube.create(NODE, node);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return kube.get(NODE, { name: node.metadata.name });
  }
}

interface Choice {
  readonly type: InstanceType;
  readonly offering: Offering;
}

/** Cheapest available offering that the claim allows; ties by type name, then zone. */
function cheapest(claim: NodeClaim, types: readonly InstanceType[]): Choice | undefined {
  const wanted = Requirements.fromSpecs(claim.spec.requirements);
  let best: Choice | undefined;
  for (const type of types) {
    if (!suits(type, wanted)) continue;
    for (const offering of type.offerings) {
      const zoneOk = allows(wanted.get(TOPOLOGY_ZONE_LABEL_KEY), offering.zone);
      const capacityOk = allows(wanted.get(CAPACITY_TYPE_LABEL_KEY), offering.capacityType);
      if (!offering.available || !zoneOk || !capacityOk) continue;
      if (best === undefined || offering.priceMicroUsd < best.offering.priceMicroUsd) {
        best = { type, offering };
      }
    }
  }
  return best;
}

/** Launched, and no Node has come yet. */
function isComing(claim: NodeClaim): boolean {
  const isOurs = claim.status?.providerID?.startsWith(PROVIDER_ID_PREFIX) === true;
  const isLeaving = claim.metadata.deletionTimestamp !== undefined;
  return isOurs && !isLeaving && !isTrue(claim, "Registered");
}

/** The offering that the claim was launched with, from its labels. */
function chosen({ metadata: { labels = {} } }: NodeClaim): Choice | undefined {
  const type = kwokInstanceTypes().find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY]);
  const offering = type?.offerings.find(
    ({ zone, capacityType }) =>
      zone === labels[TOPOLOGY_ZONE_LABEL_KEY] && capacityType === labels[CAPACITY_TYPE_LABEL_KEY],
  );
  return type === undefined || offering === undefined ? undefined : { type, offering };
}

/** Labels that the type does not bring come from the pool: they say nothing about the type. */
function suits(type: InstanceType, wanted: Requirements): boolean {
  return Object.entries(type.labels).every(([key, values]) =>
    values.some((value) => allows(wanted.get(key), value)),
  );
}

function nodeOf(claim: NodeClaim, { type, offering }: Choice, name: string): Node {
  const allocatable = formatResources(subtractResources(type.capacity, type.overhead));
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        ...claim.metadata.labels,
        ...labelsOf(type, offering),
        [HOSTNAME_LABEL_KEY]: name,
        [KWOK_NODE_KEY]: "fake",
      },
      annotations: { ...claim.metadata.annotations, [KWOK_NODE_KEY]: "fake" },
    },
    spec: {
      providerID: `${PROVIDER_ID_PREFIX}${name}`,
      taints: [
        UNREGISTERED_NO_EXECUTE_TAINT,
        ...(claim.spec.taints ?? []),
        ...(claim.spec.startupTaints ?? []),
      ],
    },
    status: {
      capacity: formatResources(type.capacity),
      allocatable,
      // Without a first boot no later one could be told from it, so the node could not be rebooted.
      nodeInfo: { bootID: `kwok-${name}` },
    },
  };
}

function labelsOf(type: InstanceType, offering: Offering): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const key of [
    INSTANCE_TYPE_LABEL_KEY,
    ARCH_LABEL_KEY,
    OS_LABEL_KEY,
    ...KWOK_WELL_KNOWN_LABELS,
  ]) {
    labels[key] = type.labels[key]?.[0] ?? "";
  }
  labels[TOPOLOGY_ZONE_LABEL_KEY] = offering.zone;
  labels[CAPACITY_TYPE_LABEL_KEY] = offering.capacityType;
  return labels;
}

/** A new choice could differ from the existing Node, so the Node's labels count. */
function adopt(
  claim: NodeClaim,
  node: Node,
  chosen: InstanceType,
  types: readonly InstanceType[],
): NodeClaim {
  const name = node.metadata.labels?.[INSTANCE_TYPE_LABEL_KEY];
  return hydrate(claim, node, types.find((type) => type.name === name) ?? chosen);
}

/** Always the same for one claim, so that launching it twice gives one Node. */
function nameOf({ metadata: { name, creationTimestamp } }: NodeClaim): string {
  return `${name}-${new Random(`${name} ${creationTimestamp}`).suffix(10)}`;
}

function hydrate(claim: NodeClaim, node: Node, type: InstanceType): NodeClaim {
  return {
    ...claim,
    metadata: { ...claim.metadata, labels: { ...node.metadata.labels, ...claim.metadata.labels } },
    status: {
      ...claim.status,
      providerID: node.spec?.providerID as string,
      capacity: formatResources(type.capacity),
      allocatable: formatResources(subtractResources(type.capacity, type.overhead)),
    },
  };
}

function claimOf(node: Node): NodeClaim {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: {
      name: "",
      ...(node.metadata.labels === undefined ? {} : { labels: node.metadata.labels }),
      ...(node.metadata.creationTimestamp === undefined
        ? {}
        : { creationTimestamp: node.metadata.creationTimestamp }),
      ...(node.metadata.deletionTimestamp === undefined
        ? {}
        : { deletionTimestamp: node.metadata.deletionTimestamp }),
    },
    spec: { requirements: [], nodeClassRef: { group: "", kind: "", name: "" } },
    status: { providerID: node.spec?.providerID as string, nodeName: node.metadata.name },
  };
}

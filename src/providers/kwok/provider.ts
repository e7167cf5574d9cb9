/**
 * The kwok cloud: an instance is a Node object that this provider creates through the Kubernetes API. Another program
 * (kwok, or the sandbox's kubelets) keeps the Node Ready. Works on any cluster.
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
/** The annotation and label by which kwok selects the nodes that it simulates. */
const KWOK_NODE_KEY = "kwok.x-k8s.io/node";
/** Milliseconds until a failed creation of a Node is tried again. */
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
  /** Gives up the creation of an instance's Node. Returns true if the Node did not exist yet. */
  giveUp(name: string): boolean;
  /** Stops all attempts. The next controller continues with the booting instances. */
  stop(): void;
}

/** A cloud provider with `stop`, which stops the creation of Nodes that wait for their registration delay. */
export interface KwokProvider extends CloudProvider {
  stop(): void;
}

/** A provider whose instances are Node objects only. upstream: kwok/cloudprovider. */
export function createKwokProvider(deps: KwokDeps): KwokProvider {
  const nodes = deps.mirrors.of(NODE);
  // Opened at the start, so that the mirror is filled before a launch reads the registration delay.
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
          // Other programs also create kwok nodes. These have no pool label.
          .filter(({ metadata }) => poolIdOfLabels(metadata.labels) !== undefined)
          .map(claimOf)
      );
    },
    getInstanceTypes: async () => kwokInstanceTypes(),
    quotaRoom: () => new Map(),
    labelsOfRunning: async () => ({}),
    // The types are this program's own data.
    isTypeGone: async () => true,
    isDrifted: async () => undefined,
    // There is nothing to take over, because a repeated launch of a claim finds its Node by name.
    takeOver: async () => undefined,
    isTakenBack: () => false,
    stop: () => booting.stop(),
  };
}

/**
 * The instance of this id. A missing Node means that the instance has ended, so that is confirmed by a live read. A
 * Node that is being deleted also counts as ended.
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

/** Throws, as upstream does, if the class does not exist or is not Ready. Then the claim is deleted. */
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
  /** A Node may be stored even if the attempt failed, because the answer may have been lost. */
  isTried: boolean;
  isGivenUp: boolean;
}

/**
 * Creates the Nodes of booting instances. A failed creation is retried until the claim is deleted. After that, the
 * deletion is retried until it is certain that there is no Node, because only then the instance is gone.
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
      // The instance may have been deleted during the creation.
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

/** Creates the Node, or returns the existing one: an earlier controller may have created it before it crashed. */
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

/** Whether the claim is launched and its Node has not joined. */
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

/**
 * Whether the type satisfies the requirements. Labels that the type does not define come from the pool, so they are
 * ignored.
 */
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
      // A bootID from the start, because a reboot is recognized by a changed one.
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

/** The claim with the labels of its existing Node. A new choice could differ from that Node. */
function adopt(
  claim: NodeClaim,
  node: Node,
  chosen: InstanceType,
  types: readonly InstanceType[],
): NodeClaim {
  const name = node.metadata.labels?.[INSTANCE_TYPE_LABEL_KEY];
  return hydrate(claim, node, types.find((type) => type.name === name) ?? chosen);
}

/** The name of the claim's Node. Equal for each launch of one claim, so that two launches give one Node. */
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

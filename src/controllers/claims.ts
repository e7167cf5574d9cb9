/**
 * Reads and writes claims of every API version. Claims are read in the v1 form, and written back with the fields of
 * their own kind. A request names the kind as it is stored, because a NodeClaim and a Machine may have the same name.
 */

import type { Node } from "../apis/core/node.ts";
import {
  CLAIM_KINDS,
  claimGeneration,
  claimKind,
  fromClaim,
  poolIdOfClaim,
  poolIdOfLabels,
  toClaim,
} from "../apis/hub/claim.ts";
import type { Generation } from "../apis/hub/generation.ts";
import { POOL_KINDS } from "../apis/hub/to-pool.ts";
import { PROVISIONER_NAME_LABEL_KEY } from "../apis/karpenter/labels.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { Kind, KubeObject } from "../apis/meta.ts";
import { eachInSteps, type Steps } from "../base/steps.ts";
import { changeNewest } from "../kube/client/change-object.ts";
import { getIfThere } from "../kube/client/get-if-there.ts";
import { patchObject } from "../kube/client/patch-object.ts";
import type { Request, Source } from "../kube/manager/controller.ts";
import { source, sourceOfMany } from "../kube/manager/controller.ts";
import { nativeClaims } from "./mirrors.ts";
import { asksTheSame } from "./pools.ts";
import type { World } from "./world.ts";

/** Number of claims in one step. Claims of older API versions must be converted, which takes time. */
const CLAIMS_PER_STEP = 256;

/**
 * The v1 form of each native claim. Native objects are immutable, so a conversion is valid as long as its object
 * exists.
 */
const converted = new WeakMap<KubeObject, NodeClaim>();

/** The claim in the v1 form. */
function v1Form(native: KubeObject): NodeClaim {
  let claim = converted.get(native);
  if (claim === undefined) {
    claim = toClaim(native);
    converted.set(native, claim);
  }
  return claim;
}

function kindNamed(name: string): Kind | undefined {
  return CLAIM_KINDS.find(({ kind }) => kind === name);
}

/** The claim that a request names. Undefined: it was deleted. */
export function readClaim(world: Pick<World, "mirrors">, request: Request): NodeClaim | undefined {
  const kind = kindNamed(request.kind);
  const native = kind === undefined ? undefined : nativeClaims(world, kind).get(request.name);
  return native === undefined ? undefined : v1Form(native);
}

/**
 * All claims of every API version, sorted by kind and name, as they are at the first step. Later changes are not in the
 * list.
 */
export function* listClaimsInSteps(world: Pick<World, "mirrors">): Steps<readonly NodeClaim[]> {
  const claims: NodeClaim[] = [];
  for (const kind of CLAIM_KINDS) {
    const natives = nativeClaims(world, kind).list();
    yield;
    yield* eachInSteps(natives, CLAIMS_PER_STEP, (native) => {
      claims.push(v1Form(native));
    });
  }
  return claims;
}

/** Claims of every API version with this provider id, normally one. */
export function claimsByProviderId(
  world: Pick<World, "mirrors">,
  providerId: string,
): readonly NodeClaim[] {
  return CLAIM_KINDS.flatMap((kind) =>
    nativeClaims(world, kind).byIndex("providerId", providerId).map(v1Form),
  );
}

/** The claim of a node. Undefined if there is none or more than one. */
export function claimOfNode(world: Pick<World, "mirrors">, node: Node): NodeClaim | undefined {
  const providerId = node.spec?.providerID;
  if (providerId === undefined || providerId === "") return undefined;
  const found = claimsByProviderId(world, providerId);
  return found.length === 1 ? found[0] : undefined;
}

/**
 * Writes the difference between `before` and `after`. Resolves to `undefined` if the claim is gone; rejects after a
 * conflict with another writer.
 */
export async function patchClaim(
  world: Pick<World, "kube">,
  before: NodeClaim,
  after: NodeClaim,
): Promise<NodeClaim | undefined> {
  if (before === after) return before;
  const result = await patchObject(
    world.kube,
    claimKind(before),
    fromClaim(before),
    fromClaim(after),
  );
  return result === undefined ? undefined : v1Form(result);
}

/**
 * Changes a claim that other programs may also write. After a conflict, `change` is applied again to the newest object.
 * Resolves to `undefined` if the claim is gone or another one has its name. Rejects after the third conflict.
 */
export function changeClaim(
  world: Pick<World, "kube">,
  claim: NodeClaim,
  change: (claim: NodeClaim) => NodeClaim,
): Promise<NodeClaim | undefined> {
  return changeNewest(
    claim,
    (latest) => patchClaim(world, latest, change(latest)),
    () => readStored(world, claim),
  );
}

/** The claim with this name, read from the API server. Undefined: there is none. */
export async function storedClaim(
  world: Pick<World, "kube">,
  claim: NodeClaim,
): Promise<NodeClaim | undefined> {
  const { name } = claim.metadata;
  const live = await getIfThere(world.kube, claimKind(claim), { name });
  return live && v1Form(live);
}

async function readStored(world: Pick<World, "kube">, claim: NodeClaim): Promise<NodeClaim> {
  return v1Form(await world.kube.get(claimKind(claim), { name: claim.metadata.name }));
}

/** Whether this provider serves the claim's kind of node class. Other providers' claims are ignored. */
export function isManagedClaim(world: Pick<World, "cloud">, claim: NodeClaim): boolean {
  const { group, kind } = claim.spec.nodeClassRef;
  return world.cloud.nodeClassKinds.some((one) => one.group === group && one.kind === kind);
}

/**
 * Whether a node is managed by this provider. It has a claim of this provider, or the label of one of its node classes
 * or of a Provisioner.
 */
export function isManagedNode(world: Pick<World, "cloud" | "mirrors">, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const alpha = world.cloud.nodeClassKinds.some(({ kind }) => kind === "AWSNodeTemplate");
  if (alpha && labels[PROVISIONER_NAME_LABEL_KEY] !== undefined) return true;
  const named = world.cloud.nodeClassKinds.some(
    ({ group, kind }) => labels[`${group}/${kind.toLowerCase()}`] !== undefined,
  );
  if (named) return true;
  const claim = claimOfNode(world, node);
  return claim !== undefined && isManagedClaim(world, claim);
}

/** The API version of the node's claim. Without a claim, the version of the pool that the node's labels name. */
export function nodeGeneration(node: Node, claim: NodeClaim | undefined): Generation {
  if (claim !== undefined) return claimGeneration(claim);
  const poolId = poolIdOfLabels(node.metadata.labels) ?? "";
  return poolId.startsWith("provisioner/") ? "alpha" : "v1";
}

/** The request that reconciles the claim. */
export function claimRequest(claim: KubeObject): Request {
  return { kind: claim.kind ?? "NodeClaim", name: claim.metadata.name };
}

/** Watches claims of both kinds. A change reconciles the claim. */
export function claimSources(): readonly Source[] {
  return CLAIM_KINDS.map((kind) => source(kind));
}

/** Watches pools of both kinds. A change reconciles the pool's claims if it changes what the pool requires of them. */
export function poolSourcesForClaims(world: Pick<World, "mirrors">): readonly Source[] {
  return POOL_KINDS.map((kind) =>
    sourceOfMany(kind as Kind, (pool, event, before) => {
      // A pool's status changes every few seconds, and a pool may have a hundred thousand claims. So changes of the
      // status alone are ignored.
      if (event === "updated" && before !== undefined && asksTheSame(before, pool))
        return undefined;
      const id = `${kind.kind.toLowerCase()}/${pool.metadata.name}`;
      return requestsOfClaims(world, (claim) => poolIdOfClaim(claim) === id);
    }),
  );
}

/** Watches node classes. A change reconciles the claims that reference the class. */
export function classSourcesForClaims(world: Pick<World, "mirrors" | "cloud">): readonly Source[] {
  return world.cloud.nodeClassKinds.map((kind) =>
    sourceOfMany(kind, ({ metadata }) =>
      requestsOfClaims(world, (native) => {
        const { nodeClassRef } = v1Form(native).spec;
        return nodeClassRef.kind === kind.kind && nodeClassRef.name === metadata.name;
      }),
    ),
  );
}

/** A request for each wanted claim. Yields undefined for other claims, so that the caller can pause there. */
function* requestsOfClaims(
  world: Pick<World, "mirrors">,
  isWanted: (native: KubeObject) => boolean,
): Iterable<Request | undefined> {
  for (const kind of CLAIM_KINDS) {
    for (const native of nativeClaims(world, kind).list())
      yield isWanted(native) ? { kind: kind.kind, name: native.metadata.name } : undefined;
  }
}

/**
 * Returns a function that maps a Node's event to requests for its claims, by its current and its previous provider id.
 */
export function claimRequestsOfNode(world: Pick<World, "mirrors">) {
  return (node: Node, _event: unknown, before: Node | undefined): readonly Request[] => {
    const ids = new Set([node.spec?.providerID, before?.spec?.providerID]);
    return [...ids].flatMap((id) =>
      id === undefined ? [] : claimsByProviderId(world, id).map(claimRequest),
    );
  };
}

/** Whether the deletion of the object was requested. The object exists until its finalizers are removed. */
export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

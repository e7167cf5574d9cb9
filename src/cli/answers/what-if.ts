/**
 * The assumptions of `karpenter simulate`: changed pools, more workloads, changed prices, removed nodes, drained
 * zones. They are applied to the objects before the simulation.
 */
import type { Pool } from "../../apis/hub/pool.ts";
import { condition, withCondition } from "../../apis/karpenter/conditions.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { Model } from "../../core/answers/model.ts";
import type { InstanceType, Offering } from "../../core/cloudprovider/instance-type.ts";
import type { RepairPolicy } from "../../core/cloudprovider/repair-policy.ts";
import type { Picture } from "../../core/disruption/make-round.ts";
import { createSimulator } from "../../core/disruption/simulate.ts";
import { poolDrift } from "../../core/nodeclaim/drifted.ts";
import type { PoolInput } from "../../core/provisioning/scheduling-input.ts";
import type { Found } from "../plan/documents.ts";
import { CliError } from "../program/cli-error.ts";
import type { ReadPicture } from "./read-picture.ts";
import { unknown } from "./unknown.ts";

const POOL_KINDS = ["NodePool", "Provisioner"];
/** Kinds of node classes, which are often in one file with their NodePool. */
const CLASS_KINDS = ["EC2NodeClass", "AWSNodeTemplate", "KWOKNodeClass"];

/**
 * The NodePools of the files of `--nodepool-file`, and a note for each node class among them. Throws CliError for other
 * kinds.
 */
export function poolsIn(found: readonly Found[]): {
  readonly pools: readonly Found[];
  readonly notes: readonly string[];
} {
  const isOf = (kinds: readonly string[], one: Found) => kinds.includes(one.object.kind ?? "");
  const wrong = found.find((one) => !isOf([...POOL_KINDS, ...CLASS_KINDS], one));
  if (wrong !== undefined)
    throw new CliError(
      `--nodepool-file: ${wrong.where}: wanted a NodePool or Provisioner, got ${wrong.object.kind}`,
    );
  const classes = found.filter((one) => isOf(CLASS_KINDS, one));
  return {
    pools: found.filter((one) => isOf(POOL_KINDS, one)),
    notes: classes.map(
      (one) => `${nameOf(one)} stays as it is: --nodepool-file changes NodePools only`,
    ),
  };
}

/** The objects, with those of `applied` instead of those of the same kind and name. Objects without a name are added. */
export function withObjects(found: readonly Found[], applied: readonly Found[]): readonly Found[] {
  const ids = new Set(applied.filter(({ object }) => object.metadata?.name).map(idOf));
  return [...found.filter((one) => !ids.has(idOf(one))), ...applied];
}

function nameOf({ object }: Found): string {
  return `${object.kind} ${keyOf(object)}`;
}

/** Files may leave out the namespace `default`. */
function idOf({ object: { kind, metadata } }: Found): string {
  return `${kind} ${metadata?.namespace ?? "default"}/${metadata?.name}`;
}

/** A price that the user gave with `--price`. */
export interface Price {
  readonly instanceType: string;
  readonly capacityType: string;
  readonly priceMicroUsd: number;
}

/** Parses prices: `m5.large=0.08` is on-demand, `m5.large:spot=0.03` is spot. */
export function parsePrices(given: readonly string[]): readonly Price[] {
  return given.map((text) => {
    const match = /^([^:=]+)(?::(on-demand|spot|reserved))?=(\d+(?:\.\d+)?)$/.exec(text);
    if (match === null)
      throw new CliError(`--price ${text}: wanted TYPE=USD or TYPE:spot=USD, as m5.large=0.08`);
    const [, instanceType = "", capacityType = "on-demand", usd = ""] = match;
    return { instanceType, capacityType, priceMicroUsd: Math.round(Number(usd) * 1e6) };
  });
}

/** Changes the prices of offerings, and removes offerings in drained zones. */
export function withOfferings(
  model: Model,
  prices: readonly Price[],
  drained: ReadonlySet<string>,
): Model {
  if (prices.length === 0 && drained.size === 0) return model;
  const known = new Map<readonly InstanceType[], readonly InstanceType[]>();
  const changed = <T extends Pick<PoolInput, "instanceTypes">>(one: T): T => {
    const types =
      known.get(one.instanceTypes) ??
      one.instanceTypes.map((type) => ({
        ...type,
        offerings: type.offerings.map((offering) => offered(type, offering, prices, drained)),
      }));
    known.set(one.instanceTypes, types);
    return { ...one, instanceTypes: types };
  };
  for (const { instanceType } of prices) {
    const types = model.pools.flatMap(({ instanceTypes }) => instanceTypes);
    if (!types.some(({ name }) => name === instanceType))
      throw new CliError(`--price: no NodePool of the input offers ${instanceType}`);
  }
  const { picture } = model;
  const scheduling = { ...picture.scheduling, pools: picture.scheduling.pools.map(changed) };
  const after: Picture = {
    ...picture,
    pools: picture.pools.map(changed),
    staticPools: picture.staticPools.map(changed),
    scheduling,
    simulator: createSimulator(scheduling),
  };
  return { ...model, pools: model.pools.map(changed), picture: after };
}

function offered(
  { name }: InstanceType,
  offering: Offering,
  prices: readonly Price[],
  drained: ReadonlySet<string>,
): Offering {
  const price = prices.find(
    (one) => one.instanceType === name && one.capacityType === offering.capacityType,
  );
  return {
    ...offering,
    ...(price === undefined ? {} : { priceMicroUsd: price.priceMicroUsd }),
    ...(drained.has(offering.zone) ? { available: false } : {}),
  };
}

/** Marks claims of changed pools as Drifted, as the controller would. */
export function withDrift(
  { manifests, ...read }: ReadPicture,
  changed: readonly Found[],
): ReadPicture["manifests"] {
  if (changed.length === 0) return manifests;
  const names = new Set(changed.map(({ object }) => object.metadata.name));
  const pools = new Map(read.planning.pools.map(({ pool }) => [pool.id, pool]));
  const owners = new Map(read.planning.input.nodes.map(({ claim, poolId }) => [claim, poolId]));
  const claims = manifests.claims.map((claim) => {
    const pool = pools.get(owners.get(claim) ?? "");
    if (pool === undefined || !names.has(pool.name)) return claim;
    return driftedClaim(claim, pool, read.picture.nowMs);
  });
  return { ...manifests, claims };
}

/** The claim with the condition that the controller would give it; the claim itself if it has not drifted. */
export function driftedClaim(claim: NodeClaim, pool: Pool, nowMs: number): NodeClaim {
  const reason = poolDrift(claim, pool);
  if (reason === undefined || condition(claim, "Drifted")?.status === "True") return claim;
  return withCondition(claim, { type: "Drifted", status: "True", reason }, nowMs);
}

/** Names of the given nodes, and of all nodes in these zones. Throws CliError for a name that does not exist. */
export function nodesToRemove(
  { nodes }: Picture,
  names: readonly string[],
  zones: ReadonlySet<string>,
): readonly string[] {
  const known = new Set(nodes.map(({ name }) => name));
  const missing = names.find((name) => !known.has(name));
  if (missing !== undefined)
    throw new CliError(`--remove-node: ${unknown("Node", missing, known)}`);
  const there = new Set(nodes.flatMap(({ labels }) => labels[TOPOLOGY_ZONE_LABEL_KEY] ?? []));
  const empty = [...zones].find((zone) => !there.has(zone));
  if (empty !== undefined) {
    const zoneNames = [...there].sort().join(", ") || "none";
    throw new CliError(
      `--drain-zone: no node is in zone ${empty}; there are nodes in: ${zoneNames}`,
    );
  }
  const chosen = new Set(names);
  return nodes
    .filter(
      ({ name, labels }) => chosen.has(name) || zones.has(labels[TOPOLOGY_ZONE_LABEL_KEY] ?? ""),
    )
    .map(({ name }) => name);
}

/** A condition that `--unhealthy` sets on nodes. */
export interface Unhealthy {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
}

/**
 * Parses `Ready`, `Ready=Unknown`, `AcceleratedHardwareReady=False/NvidiaXID79Error`. The default status is False.
 */
export function parseUnhealthy(given: readonly string[]): readonly Unhealthy[] {
  return given.map((text) => {
    const match = /^([A-Za-z][\w.-]*)(?:=(True|False|Unknown))?(?:\/(.+))?$/.exec(text);
    if (match === null)
      throw new CliError(
        `--unhealthy ${text}: wanted CONDITION[=STATUS][/REASON], as Ready=Unknown or StorageReady`,
      );
    const [, type = "", status = "False", reason = "Supposed"] = match;
    return { type, status: status as Unhealthy["status"], reason };
  });
}

/** A note for each condition that no repair policy covers. Without any policies there are no notes. */
export function unknownConditions(
  conditions: readonly Unhealthy[],
  policies: readonly RepairPolicy[],
): readonly string[] {
  if (policies.length === 0) return [];
  const known = [
    ...new Set(policies.map((one) => `${one.conditionType}=${one.conditionStatus}`)),
  ].sort();
  return conditions
    .map(({ type, status }) => `${type}=${status}`)
    .filter((pair) => !known.includes(pair))
    .map(
      (pair) =>
        `--unhealthy ${pair}: node repair acts on no such condition; it knows ${known.join(", ")}`,
    );
}

/** Sets these conditions on nodes. Throws CliError for a name that is not a node of Karpenter. */
export function withUnhealthy(
  { manifests, picture }: ReadPicture,
  conditions: readonly Unhealthy[],
  names: readonly string[],
): ReadPicture["manifests"] {
  const own = new Set(picture.nodes.filter(({ managed }) => managed).map(({ name }) => name));
  const missing = names.find((name) => !own.has(name));
  if (missing !== undefined) throw new CliError(`--node: ${unknown("Node", missing, own)}`);
  const chosen = names.length === 0 ? own : new Set(names);
  const types = new Set(conditions.map(({ type }) => type));
  const lastTransitionTime = toRfc3339(picture.nowMs);
  const nodes = manifests.nodes.map((node) => {
    if (!chosen.has(node.metadata.name)) return node;
    const others = (node.status?.conditions ?? []).filter(({ type }) => !types.has(type));
    const supposed = conditions.map((one) => ({ ...one, lastTransitionTime }));
    return { ...node, status: { ...node.status, conditions: [...others, ...supposed] } };
  });
  return { ...manifests, nodes };
}

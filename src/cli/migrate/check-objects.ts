/** Checks of stored objects: definitions, fields that would be lost, drift, and running operations. */
import type { Node } from "../../apis/core/node.ts";
import { claimGeneration, poolIdOfClaim, toClaim } from "../../apis/hub/claim.ts";
import { convertObject } from "../../apis/hub/conversion.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { POOL_KINDS, toPool } from "../../apis/hub/to-pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import {
  DISRUPTED_NO_SCHEDULE_TAINT,
  DISRUPTION_NO_SCHEDULE_TAINT,
  NODEPOOL_HASH_VERSION_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODEPOOL_HASH_VERSION } from "../../apis/karpenter/nodepool-hash.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { counted, firstNames } from "../../base/counted.ts";
import { isObject } from "../../base/json.ts";
import { poolDrift } from "../../core/nodeclaim/drifted.ts";
import { type CheckedItem, installDefinitions } from "../checks/checks.ts";
import type { MigrationFacts, OwnFacts, ValueSchema } from "./facts.ts";
import { unknownFields } from "./unknown-fields.ts";

/** Kinds of claims. Upstream ended Machines with v0.32; this controller still serves them. */
const CLAIMS: ReadonlySet<string> = new Set(["NodeClaim", "Machine"]);
const POOLS: ReadonlySet<string> = new Set(POOL_KINDS.map(({ kind }) => kind));
/** Maximum number of names in a sentence. */
const MOST_NAMES = 5;

interface Definition extends KubeObject {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: ValueSchema };
    }[];
  };
}

/** Checks each CRD of Karpenter: which versions are stored, and whether this program's CRD replaces it. */
export function checkDefinitions(
  { crds, values }: MigrationFacts,
  own: OwnFacts,
): readonly CheckedItem[] {
  const area = "definitions";
  if (crds.length === 0)
    return [
      {
        area,
        item: "none",
        state: "todo",
        says: "No CustomResourceDefinition of Karpenter is installed",
        remedy: `install them: ${installDefinitions("NAMESPACE")}`,
      },
    ];
  return crds.map((crd): CheckedItem => {
    const item = crd.metadata.name;
    const stored = crd.status?.storedVersions ?? [];
    const says = `stored as ${stored.join(", ") || "nothing yet"}`;
    if (crd.metadata.deletionTimestamp !== undefined)
      return {
        area,
        item,
        state: "todo",
        says: "It is being deleted, and its objects with it",
        remedy:
          "see the recipe for deleted definitions in docs/guide/uninstall.md before you go on",
      };
    const ours = (own.crds as readonly Definition[]).find(({ metadata }) => metadata.name === item);
    if (ours === undefined)
      return { area, item, state: "differs", says: `${says}; karpenter-ts does not use this kind` };
    const { versions } = ours.spec;
    const unserved = stored.filter((version) => !versions.some(({ name }) => name === version));
    if (unserved.length > 0)
      return {
        area,
        item,
        state: "todo",
        says: `${says}, and karpenter-ts does not have ${unserved.join(", ")}: its definition will be refused`,
        remedy: `write the objects again with the present Karpenter, then remove the version from status.storedVersions of the definition`,
      };
    const isOlder = stored.some((one) =>
      versions.some(({ name, storage }) => name === one && !storage),
    );
    if (!isOlder) return { area, item, state: "ready", says };
    const older = `${says}: some objects may be stored in an older version`;
    return isWebhookOff(values)
      ? {
          area,
          item,
          state: "todo",
          says: `${older}, and the values turn the conversion off`,
          remedy: "set webhook.enabled=true in the values: without it such objects cannot be read",
        }
      : {
          area,
          item,
          state: "differs",
          says: older,
          remedy:
            "keep webhook.enabled=true: conversion reads them, and the controller stores them anew",
        };
  });
}

/** Whether the chart's values turn the webhooks off. Upstream's charts of 0.33 to 0.37 do so by default. */
function isWebhookOff(values: MigrationFacts["values"]): boolean {
  const webhook = values?.["webhook"];
  return isObject(webhook) && webhook["enabled"] === false;
}

/** Counts objects by kind and version, and finds fields that this program's CRDs do not have. */
export function checkObjects({ objects }: MigrationFacts, own: OwnFacts): readonly CheckedItem[] {
  const counts = new Map<string, number>();
  for (const { apiVersion, kind } of objects) {
    const item = `${kind} ${apiVersion}`;
    counts.set(item, (counts.get(item) ?? 0) + 1);
  }
  const checks: CheckedItem[] = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([item, count]) => ({
      area: "objects",
      item,
      state: "ready",
      says: `${counted(count, "object")}, read as ${count === 1 ? "it is" : "they are"}`,
    }));
  for (const object of objects) {
    const unknown = unknownFields(object, schemaOf(object, own.crds)).filter(
      (path) => !/^(metadata|apiVersion|kind)(\.|$)/.test(path),
    );
    const lost = unknown.filter((path) => !path.startsWith("status."));
    if (lost.length === 0) continue;
    checks.push({
      area: "objects",
      item: `${object.kind} ${object.metadata.name}`,
      state: "todo",
      says: `karpenter-ts does not know ${some(lost)}`,
      remedy: `the fields are dropped once karpenter-crd is installed: take them out, or stay until they are known`,
    });
  }
  return checks;
}

function schemaOf(
  { apiVersion = "", kind }: KubeObject,
  crds: readonly KubeObject[],
): ValueSchema | undefined {
  const own = (crds as readonly Definition[]).find(({ spec }) => spec.names.kind === kind);
  const version = apiVersion.split("/")[1];
  return own?.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema;
}

/**
 * Which nodes would be replaced because of the move, and which are to be replaced anyway. A claim that is being deleted
 * cannot drift any more: `checkUnderWay` names it.
 */
export function checkDrift({ objects }: MigrationFacts): readonly CheckedItem[] {
  const area = "drift";
  const pools = new Map<string, Pool>();
  for (const object of objects)
    if (POOLS.has(object.kind ?? "")) {
      const pool = toPool(asV1(object) as never);
      pools.set(pool.id, pool);
    }
  const checks: CheckedItem[] = [];
  const pending: string[] = [];
  const restamped: string[] = [];
  const versions = new Set<string>();
  let quiet = 0;
  for (const claim of claimsIn(objects).filter((one) => !isDeleted(one))) {
    const { name } = claim.metadata;
    const pool = pools.get(poolIdOfClaim(claim) ?? "");
    if (isTrue(claim, "Drifted")) {
      pending.push(name);
      continue;
    }
    const reason = pool === undefined ? undefined : poolDrift(claim, pool);
    if (reason !== undefined) {
      checks.push({
        area,
        item: name,
        state: "drift",
        says: `The node would be replaced: ${reason}${driftValues(claim, pool as Pool, reason)}`,
        remedy: `compare NodeClaim ${name} with its NodePool; budgets {nodes: "0"} hold it back until you are ready`,
      });
      continue;
    }
    quiet++;
    const version = claim.metadata.annotations?.[NODEPOOL_HASH_VERSION_ANNOTATION_KEY];
    if (version === undefined || version === NODEPOOL_HASH_VERSION) continue;
    restamped.push(name);
    versions.add(version);
  }
  if (pending.length > 0)
    checks.push({
      area,
      item: "pending",
      state: "differs",
      says: `${counted(pending.length, "node")} drifted before and will be replaced by either Karpenter: ${some(pending)}`,
    });
  if (restamped.length > 0)
    checks.push({
      area,
      item: "hash version",
      state: "differs",
      says: `${counted(restamped.length, "claim")} of hash version ${[...versions].sort().join(", ")}, and not ${NODEPOOL_HASH_VERSION}, get the current hash, without drift: ${some(restamped)}`,
    });
  const says = `${counted(quiet, "claim")} would stay as ${quiet === 1 ? "it is" : "they are"}`;
  return [...checks, { area, item: "claims", state: "ready", says }];
}

/** The values of the claim and of the pool that differ: `: its label a is x, and the pool wants a In y`. */
function driftValues(claim: NodeClaim, pool: Pool, reason: string): string {
  if (reason !== "RequirementsDrifted") {
    const { hashAnnotation } = vocabulary(claimGeneration(claim));
    const hash = claim.metadata.annotations?.[hashAnnotation];
    return `: the pool's template had the hash ${hash} when the claim was created, and has ${pool.hash} now`;
  }
  const { labels = {} } = claim.metadata;
  const differing = pool.requirements.filter(
    (one) => poolDrift(claim, { ...pool, requirements: [one] }) !== undefined,
  );
  const said = differing.map(({ key, operator, values = [] }) => {
    const has =
      labels[key] === undefined ? "it has no label" : `its label ${key} is ${labels[key]}`;
    return `${has}, and the pool wants ${key} ${operator} ${values.join(", ")}`.trimEnd();
  });
  return said.length === 0 ? "" : `: ${said.join("; ")}`;
}

/** Claims that are starting or being deleted, and nodes that a command has tainted. */
export function checkUnderWay({ objects, nodes }: MigrationFacts): readonly CheckedItem[] {
  const area = "under way";
  const claims = claimsIn(objects);
  const named = (some: readonly NodeClaim[]) => some.map(({ metadata }) => metadata.name);
  const leaving = claims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const coming = claims.filter((one) => !leaving.includes(one) && !isTrue(one, "Initialized"));
  const going = new Set(leaving.map(({ status }) => status?.nodeName));
  const tainted = nodes.filter(
    (node) => isTainted(node) && !going.has(node.metadata.name) && !isDeleted(node),
  );
  const checks: CheckedItem[] = [];
  if (coming.length > 0)
    checks.push({
      area,
      item: "launching",
      state: "differs",
      says: `${counted(coming.length, "claim")} not initialized yet are taken over as they are: ${some(named(coming))}`,
    });
  if (leaving.length > 0)
    checks.push({
      area,
      item: "draining",
      state: "differs",
      says: `${counted(leaving.length, "node")} being removed; draining continues: ${some(named(leaving))}`,
    });
  if (tainted.length > 0)
    checks.push({
      area,
      item: "commands",
      state: "differs",
      says: `Karpenter in Go remembers a command only in its process: the taint is removed from ${some(tainted.map(({ metadata }) => metadata.name))}, and the command is decided again`,
    });
  if (checks.length === 0)
    checks.push({
      area,
      item: "nothing",
      state: "ready",
      says: "No claim is starting or being deleted",
    });
  return checks;
}

function claimsIn(objects: readonly KubeObject[]): readonly NodeClaim[] {
  return objects.filter(({ kind }) => CLAIMS.has(kind ?? "")).map((one) => toClaim(asV1(one)));
}

/** Converts v1beta1 objects to v1. v1alpha5 has kinds of its own. */
function asV1(object: KubeObject): KubeObject {
  const [group = "", version] = (object.apiVersion ?? "").split("/");
  return version === "v1beta1" ? convertObject(object, `${group}/v1`) : object;
}

function isTainted({ spec }: Node): boolean {
  const keys = [DISRUPTED_NO_SCHEDULE_TAINT.key, DISRUPTION_NO_SCHEDULE_TAINT.key];
  return (spec?.taints ?? []).some(({ key }) => keys.includes(key));
}

function isDeleted({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** The first names, and how many others there are. */
export function some(names: readonly string[]): string {
  return firstNames([...names].sort(), MOST_NAMES);
}

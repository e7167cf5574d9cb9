/**
 * The static hash of a pool's template: a claim stamped with another one has drifted. Same recipe as
 * upstream's (FNV-1 over typed fields, lists as sets, zero values skipped), for pools of all generations.
 * Requirements and everything outside the template stay out. upstream: NodePool.Hash(), spec 1.4
 */
import { parseDuration } from "../../base/duration.ts";
import { fnv64Integers, fnv64Text } from "../../base/fnv.ts";
import { canonicalJson } from "../../base/json.ts";
import type { Taint } from "../core/node.ts";
import type { NodePool } from "./nodepool.ts";
import type { Provisioner } from "./provisioner.ts";

/** Stamped beside the hash: a change of recipe re-stamps claims instead of drifting them. */
export const NODEPOOL_HASH_VERSION = "v3";

/** `undefined` is a zero value: it does not enter the hash of what holds it. */
type Hash = bigint | undefined;

/** What of a template enters its hash. */
interface HashedTemplate extends Pick<NodePool["spec"]["template"], "metadata"> {
  readonly spec: Omit<NodePool["spec"]["template"]["spec"], "requirements">;
}

/** Decimal text of the 64-bit hash. */
export function nodePoolHash(pool: NodePool): string {
  return templateHash(pool.spec.template);
}

/** The same of a template alone: what a hash would be if one word of it were another. */
export function templateHash({ metadata, spec }: HashedTemplate): string {
  const meta = struct("ObjectMeta", {
    Labels: map(metadata?.labels),
    Annotations: map(metadata?.annotations),
  });
  const claimSpec = struct("NodeClaimTemplateSpec", {
    Taints: taintSet(spec.taints),
    StartupTaints: taintSet(spec.startupTaints),
    NodeClassRef: struct("NodeClassReference", {
      Kind: text(spec.nodeClassRef?.kind),
      Name: text(spec.nodeClassRef?.name),
      Group: text(spec.nodeClassRef?.group),
    }),
    TerminationGracePeriod: duration("Duration", spec.terminationGracePeriod),
    ExpireAfter: duration("NillableDuration", spec.expireAfter),
  });
  return String(struct("NodeClaimTemplate", { ObjectMeta: meta, Spec: claimSpec }) ?? 0n);
}

/** Alpha's: what shapes the machine without being a requirement. upstream: Provisioner.Hash() v0.31 */
export function provisionerHash(provisioner: Provisioner): string {
  const spec: Provisioner["spec"] = provisioner.spec ?? {};
  const hash = struct("ProvisionerSpec", {
    Annotations: map(spec.annotations),
    Labels: map(spec.labels),
    Taints: taintSet(spec.taints),
    StartupTaints: taintSet(spec.startupTaints),
    KubeletConfiguration: json(spec.kubeletConfiguration),
    Provider: json(spec.provider),
    ProviderRef: text(spec.providerRef?.name),
  });
  return String(hash ?? 0n);
}

/** Order does not matter; keys that are absent or zero do not enter. Used by class hashes too. */
export function contentHash(value: unknown): string {
  return String(fnv64Text(canonicalJson(value)));
}

function json(value: unknown): Hash {
  return value === undefined ? undefined : fnv64Text(canonicalJson(value));
}

function text(value: string | undefined): Hash {
  return value === undefined || value === "" ? undefined : fnv64Text(value);
}

function duration(typeName: string, value: string | undefined): Hash {
  const ms = value === undefined ? undefined : parseDuration(value);
  if (ms === undefined || ms === 0) return undefined;
  return struct(typeName, { Duration: fnv64Integers(BigInt(ms) * 1_000_000n) });
}

function map(value: Readonly<Record<string, string>> | undefined): Hash {
  const keys = Object.keys(value ?? {});
  if (value === undefined || keys.length === 0) return undefined;
  let hash = 0n;
  for (const key of keys) hash ^= ordered(fnv64Text(key), fnv64Text(value[key] as string));
  return fnv64Integers(hash);
}

function taintSet(taints: readonly Taint[] | undefined): Hash {
  if (taints === undefined || taints.length === 0) return undefined;
  return taints.map(taint).reduce((sum: bigint, hash) => sum ^ (hash ?? 0n), 0n);
}

function taint(one: Taint): Hash {
  return struct("Taint", {
    Key: text(one.key),
    Value: text(one.value),
    Effect: text(one.effect),
  });
}

function struct(name: string, fields: Readonly<Record<string, Hash>>): Hash {
  if (Object.values(fields).every((hash) => hash === undefined)) return undefined;
  let hash = fnv64Text(name);
  for (const field of Object.keys(fields)) {
    const value = fields[field];
    if (value === undefined) continue;
    hash ^= ordered(fnv64Text(field), value);
    hash = fnv64Integers(hash);
  }
  return hash;
}

function ordered(a: bigint, b: bigint): bigint {
  return fnv64Integers(a, b);
}

/**
 * The hash of a pool's template. A claim that was created with another hash has drifted. It is computed as upstream
 * does, for pools of all API versions: FNV-1 over typed fields, with lists as sets, without zero values. Requirements
 * and fields outside the template are left out.
 * upstream: pkg/apis/v1/nodepool.go (Hash)
 */
import { parseDuration } from "../../base/duration.ts";
import { fnv64Integers, fnv64Text } from "../../base/fnv.ts";
import { canonicalJson } from "../../base/json.ts";
import type { Taint } from "../core/node.ts";
import type { NodePool } from "./nodepool.ts";
import type { Provisioner } from "./provisioner.ts";

/**
 * The version of the hash, which is written next to it on pools and claims. If a new release computes the hash in
 * another way, claims with an older version get the new hash and do not drift.
 */
export const NODEPOOL_HASH_VERSION = "v3";

/** The hash of a value. Undefined: the value is zero or empty, and is left out of the hash of its object. */
type Hash = bigint | undefined;

/** The fields of a template from which its hash is computed. */
interface HashedTemplate extends Pick<NodePool["spec"]["template"], "metadata"> {
  readonly spec: Omit<NodePool["spec"]["template"]["spec"], "requirements">;
}

/** The 64-bit hash of the pool's template, as a decimal number. */
export function nodePoolHash(pool: NodePool): string {
  return templateHash(pool.spec.template);
}

/** Like {@link nodePoolHash}, but for a template alone. */
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

/**
 * The hash of the fields of a Provisioner that determine the node, without requirements. upstream: Provisioner.Hash()
 * v0.31
 */
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

/**
 * The hash of a value's JSON. The order of keys does not matter, and absent fields are left out. Also used for node
 * classes.
 */
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

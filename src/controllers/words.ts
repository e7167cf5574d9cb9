/**
 * How log lines, metrics and events name things, by API version. v1alpha5 has machines and provisioners, v1beta1 has
 * lower-case fields nodeclaim and nodepool, v1 has `{"NodeClaim": {"name"}}`.
 */
import type { Node } from "../apis/core/node.ts";
import { claimGeneration, poolNameOfLabels } from "../apis/hub/claim.ts";
import { type Generation, vocabulary } from "../apis/hub/generation.ts";
import type { Pool } from "../apis/hub/pool.ts";
import { PROVIDER_COMPATIBILITY_ANNOTATION_KEY } from "../apis/karpenter/labels.ts";
import type { KubeObject, ObjectMeta } from "../apis/meta.ts";
import type { LogFields, Logger } from "../base/log.ts";

/** The log field for a claim: `{NodeClaim: {name}}`, `{nodeclaim: name}` or `{machine: name}`. */
export function claimFields(claim: KubeObject): LogFields {
  return named(claimGeneration(claim), "claim", claim.metadata.name);
}

/** The log field for a pool: `NodePool`, or `provisioner`. */
export function poolFields(pool: Pick<Pool, "generation" | "name">): LogFields {
  return named(pool.generation, "pool", pool.name);
}

/** The log field for a node. */
export function nodeFields(generation: Generation, node: Pick<Node, "metadata">): LogFields {
  const { name } = node.metadata;
  return generation === "v1" ? { Node: { name } } : { node: name };
}

function named(generation: Generation, what: "claim" | "pool", name: string): LogFields {
  const words = vocabulary(generation);
  if (generation === "v1") {
    return { [what === "claim" ? words.claimKind : words.poolKind]: { name } };
  }
  return { [what === "claim" ? words.claimNoun : words.poolNoun]: name };
}

/**
 * The logger of a controller for one claim. In v1alpha5's log `nodeclaim.lifecycle` is `machine.lifecycle`, and lines
 * also name the provisioner.
 */
export function claimLog(log: Logger, controller: string, claim: KubeObject): Logger {
  const generation = claimGeneration(claim);
  const noun = vocabulary(generation).claimNoun;
  return log.with({
    controller: controller.replace(/^nodeclaim/, noun),
    ...claimFields(claim),
    ...(generation === "alpha" ? { provisioner: poolLabel(claim.metadata) } : {}),
  });
}

/**
 * Whether a claim belongs to a Provisioner with an inline provider. For such claims the log uses the wording of v0.5:
 * nodes had a TTL, and lines began with a capital letter.
 */
export function speaksV05(claim: KubeObject | undefined): boolean {
  return claim?.metadata.annotations?.[PROVIDER_COMPATIBILITY_ANNOTATION_KEY] !== undefined;
}

/** The name of the owning pool as a metric label. Empty for standalone claims. */
export function poolLabel(metadata: Pick<ObjectMeta, "labels">): string {
  return poolNameOfLabels(metadata.labels) ?? "";
}

/** Shortens a long list to one line, such as `a, b, c and 4 other(s)`. */
export function some(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} other(s)` : shown;
}

/** Formats a price per hour or a sum, such as `$0.123`. */
export function dollars(microUsd: number): string {
  return `$${(microUsd / 1_000_000).toFixed(3)}`;
}

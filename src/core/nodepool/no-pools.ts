/**
 * Explains why there is no NodePool to plan with, for events, the log, `karpenter plan` and `karpenter explain`. On EKS
 * Auto Mode, AKS or GKE, all NodePools may belong to another provider. Pods then stay pending, and only this message
 * says why.
 */
import { vocabulary } from "../../apis/hub/generation.ts";
import { isOfClassKinds, type Pool } from "../../apis/hub/pool.ts";
import type { Kind } from "../../apis/meta.ts";

/** The most pools of each kind that the message names. */
const MOST_NAMED = 3;

type ClassKind = Pick<Kind, "group" | "kind">;

interface NoPools {
  /** Upstream's message. */
  readonly message: string;
  /** The message, followed by the reasons if there are any. */
  readonly text: string;
}

/**
 * Explains why none of the pools can be used. `all`: pools of this provider and of others. `served`: the node class
 * kinds of this provider; undefined: all. `unusable`: for each pool of this provider, why it cannot be used now.
 */
export function noPools(
  all: readonly Pool[],
  served: readonly ClassKind[] | undefined,
  unusable: readonly string[],
): NoPools {
  const foreign = foreignPools(all, served);
  const whys = someOf(unusable);
  if (foreign.length > 0 && served !== undefined) {
    const names = someOf(foreign.map(classed)).join(", ");
    const none = foreign.length === all.length ? "none is ours" : "not ours";
    whys.push(`${none}: ${names}; this Karpenter serves ${served.map(kindText).join(", ")}`);
  }
  const message = nothingFound(all, foreign);
  return { message, text: whys.length === 0 ? message : `${message}: ${whys.join("; ")}` };
}

/** Pools of other providers, which this provider ignores. */
export function foreignPools(
  all: readonly Pool[],
  served: readonly ClassKind[] | undefined,
): readonly Pool[] {
  if (served === undefined) return [];
  return all.filter((pool) => pool.unreadable === undefined && !isOfClassKinds(pool, served));
}

/** The kind as text, such as `NodePool of group`. */
export function kindText({ kind, group }: ClassKind): string {
  return `${kind} of ${group}`;
}

function classed({ generation, name, classRef }: Pool): string {
  const noun = vocabulary(generation).poolNoun;
  return `${noun} ${JSON.stringify(name)} (${kindText(classRef)})`;
}

function someOf(all: readonly string[]): string[] {
  const others = all.length - MOST_NAMED;
  return [...all.slice(0, MOST_NAMED), ...(others > 0 ? [`and ${others} more`] : [])];
}

/** Upstream's message for the newest API version of this provider's pools, or for v1 if it has none. */
function nothingFound(all: readonly Pool[], foreign: readonly Pool[]): string {
  const ours = all.filter((pool) => !foreign.includes(pool));
  if (ours.length === 0 || ours.some(({ generation }) => generation === "v1"))
    return "no dynamic nodepools found";
  return ours.some(({ generation }) => generation === "beta")
    ? "no nodepools found"
    : "no provisioners found";
}

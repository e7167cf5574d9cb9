/**
 * Why there is no NodePool to plan with, for events, the log, `plan` and `explain`. On EKS Auto Mode, AKS or GKE all
 * NodePools may belong to another provider. Then only this message tells why pods stay pending.
 */
import { vocabulary } from "../../apis/hub/generation.ts";
import { isOfClassKinds, type Pool } from "../../apis/hub/pool.ts";
import type { Kind } from "../../apis/meta.ts";

/** The most pools of each sort that are named. */
const MOST_NAMED = 3;

type ClassKind = Pick<Kind, "group" | "kind">;

interface NoPools {
  /** upstream's message. */
  readonly message: string;
  /** The message with its reasons, if there are any. */
  readonly text: string;
}

/**
 * `all`: pools of this and other providers. `served`: the kinds of node class of this provider; undefined: all.
 * `unusable`: why each pool of this provider cannot be used now.
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

/** Pools of other providers, which this one ignores. */
export function foreignPools(
  all: readonly Pool[],
  served: readonly ClassKind[] | undefined,
): readonly Pool[] {
  if (served === undefined) return [];
  return all.filter((pool) => pool.unreadable === undefined && !isOfClassKinds(pool, served));
}

/** `NodePool of group`. */
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

/** The message in the words of the pools' generation, or of v1 if there is no pool. */
function nothingFound(all: readonly Pool[], foreign: readonly Pool[]): string {
  const ours = all.filter((pool) => !foreign.includes(pool));
  if (ours.length === 0 || ours.some(({ generation }) => generation === "v1"))
    return "no dynamic nodepools found";
  return ours.some(({ generation }) => generation === "beta")
    ? "no nodepools found"
    : "no provisioners found";
}

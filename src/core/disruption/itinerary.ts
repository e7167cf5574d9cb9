/**
 * In which order the pods of a command leave, so that each goes where the plan has it: kube-scheduler spreads
 * what it is given, and of a tight plan the last pods would find no room. One node after the other is filled:
 * while it is its turn, only pods planned for it leave, and all others that they might go to are put last.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { fits, type Resources } from "../../apis/resources.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { ownerOf } from "./moves.ts";

/** Nodes put last beside those that are to be filled: each costs two requests. */
const MOST_OTHERS = 100;

/** One node and what it is to take. */
export interface Stop {
  /** Of a Node that is there, or of a claim whose Node comes. */
  readonly name: string;
  readonly pods: readonly Pod[];
  /** UIDs of the pods' owners: who makes new ones. */
  readonly owners: ReadonlySet<string>;
}

/** What of a command says where its pods go. */
interface Plan extends Pick<Command, "replacements" | "placements"> {
  readonly candidates: readonly Pick<Candidate, "reschedulablePods">[];
}

/**
 * `claimNames`: of the command's replacements, in their order. Nodes that take nothing are no stops. Pods that
 * wait anyway may be planned along: nobody has them leave, they are not steered.
 */
export function stopsOf(
  { candidates, replacements, placements = [] }: Plan,
  claimNames: readonly string[],
): readonly Stop[] {
  const uids = candidates.flatMap(({ reschedulablePods }) => reschedulablePods.map(uidOf));
  const leaving = new Set(uids);
  const stop = (name: string, pods: readonly Pod[]) =>
    stopFor(
      name,
      pods.filter((pod) => leaving.has(uidOf(pod))),
    );
  const fresh = replacements.map(({ pods }, index) => stop(claimNames[index] as string, pods));
  const known = placements.map(({ nodeName, pods }) => stop(nodeName, pods));
  return [...known, ...fresh].filter(({ pods }) => pods.length > 0);
}

function uidOf({ metadata }: Pod): string | undefined {
  return metadata.uid;
}

function stopFor(name: string, pods: readonly Pod[]): Stop {
  const owners = new Set(pods.flatMap((pod) => ownerOf(pod)?.uid ?? []));
  return { name, pods, owners };
}

/**
 * Names of our nodes that are no stop and on which one of these pods might end nevertheless, those with most
 * room first: kube-scheduler prefers them.
 */
export function otherPlaces(
  nodes: readonly NodeView[],
  stops: ReadonlySet<string>,
  pods: readonly Pod[],
): readonly string[] {
  const least = leastOf(pods);
  const free = ({ available, allocatable }: NodeView): number =>
    (available["cpu"] ?? 0) / Math.max(1, allocatable["cpu"] ?? 0);
  return nodes
    .filter(({ node, managed, deleting }) => node !== undefined && managed && !deleting)
    .filter(({ name, available }) => !stops.has(name) && fits(least, available))
    .map((view) => [free(view), view.name] as const)
    .sort(([a, one], [b, other]) => b - a || (one < other ? -1 : 1))
    .slice(0, MOST_OTHERS)
    .map(([, name]) => name);
}

/** Of each resource what the pod with least of it wants. */
function leastOf(pods: readonly Pod[]): Resources {
  const all = pods.map(podRequests);
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  return Object.fromEntries(
    [...names].map((name) => [name, Math.min(...all.map((one) => one[name] ?? 0))]),
  );
}

/**
 * When each pod was first seen, first decided on, and first given a place: what the metrics of waiting pods
 * are reckoned from. In memory, as upstream has it: after a restart the clock of a pod begins anew.
 * upstream: pkg/controllers/state/cluster.go AckPods, MarkPodSchedulingDecisions
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { Clock } from "../../base/clock.ts";

/** When each pending pod was first seen, and first placed by a plan. For metrics. */
export interface PodTimes {
  /** The pod waits for a place, as far as we know since now. */
  acknowledge(pod: Pod): void;
  /** Planning has looked at it. Returns how long that took when it was the first time. */
  decide(pod: Pod, placed: boolean): number | undefined;
  /** When planning first had a place for it; undefined while there is none. */
  placedAtMs(pod: Pod): number | undefined;
  /** Pods without a decision yet, and since when they wait. */
  undecided(): Iterable<{
    readonly namespace: string;
    readonly name: string;
    readonly sinceMs: number;
  }>;
  /** It runs or is gone. */
  forget(pod: Pod): void;
}

interface Times {
  readonly namespace: string;
  readonly name: string;
  readonly seenMs: number;
  decided: boolean;
  placedMs: number | undefined;
}

/** Times are kept in memory only; a restart forgets them. */
export function createPodTimes({ clock }: { readonly clock: Clock }): PodTimes {
  const known = new Map<string, Times>();

  function timesOf(pod: Pod): Times {
    const { name, namespace = "" } = pod.metadata;
    let times = known.get(uidOf(pod));
    if (times === undefined) {
      times = { namespace, name, seenMs: clock.now(), decided: false, placedMs: undefined };
      known.set(uidOf(pod), times);
    }
    return times;
  }

  return {
    acknowledge: (pod) => {
      timesOf(pod);
    },
    decide: (pod, placed) => {
      const times = timesOf(pod);
      times.placedMs = placed ? (times.placedMs ?? clock.now()) : undefined;
      if (times.decided) return undefined;
      times.decided = true;
      return clock.now() - times.seenMs;
    },
    placedAtMs: (pod) => known.get(uidOf(pod))?.placedMs,
    undecided: function* () {
      for (const { namespace, name, seenMs, decided } of known.values())
        if (!decided) yield { namespace, name, sinceMs: seenMs };
    },
    forget: (pod) => {
      known.delete(uidOf(pod));
    },
  };
}

function uidOf({ metadata }: Pod): string {
  return metadata.uid ?? `${metadata.namespace}/${metadata.name}`;
}

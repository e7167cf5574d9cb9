/**
 * When each pod was first seen, first planned, and first given a place. The metrics of pending pods are computed from
 * these times. As in upstream they are in memory only: after a restart each pod counts as new.
 * upstream: pkg/controllers/state/cluster.go AckPods, MarkPodSchedulingDecisions
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { Clock } from "../../base/clock.ts";

/** The times of pending pods, for metrics. */
export interface PodTimes {
  /** Records that the pod is pending. The first call sets the time since which it is pending. */
  acknowledge(pod: Pod): void;
  /** Records that a plan included the pod. The first call returns the milliseconds since the pod was seen. */
  decide(pod: Pod, placed: boolean): number | undefined;
  /**
   * The time since which every plan has had a place for the pod. Undefined: the last plan had none, or no plan has
   * included the pod yet.
   */
  placedAtMs(pod: Pod): number | undefined;
  /** Pods that no plan has included yet, and when each was seen. */
  undecided(): Iterable<{
    readonly namespace: string;
    readonly name: string;
    readonly sinceMs: number;
  }>;
  /** Drops the times of a pod. Call it when the pod is bound or deleted. */
  forget(pod: Pod): void;
}

interface Times {
  readonly namespace: string;
  readonly name: string;
  readonly seenMs: number;
  decided: boolean;
  placedMs: number | undefined;
}

/** Creates the record of times. It is in memory only, so a restart loses it. */
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

/**
 * The console's source for a live cluster, real or simulated. A new scene is made only if something changed, or if time
 * alone may have changed an answer. Watches are open only while the console is in use.
 */

import { POD } from "../../apis/core/pod.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { ConsoleScene, ConsoleSource, SandboxAct } from "../../console/source.ts";
import { CliError } from "../program/cli-error.ts";
import { keptCloud } from "./kept-cloud.ts";
import { LongWork, readScene, type SceneDoors } from "./live-scene.ts";
import { type MirroredDoors, openMirroredCluster } from "./mirrored-cluster.ts";
import { REST_FACTOR } from "./rested.ts";

export interface LiveSourceOptions extends MirroredDoors {
  readonly name: string;
  readonly mode: ConsoleSource["mode"];
  /** The time on the cluster's clock. */
  readonly nowMs: () => number | Promise<number>;
  /** Notes that every scene shows. */
  readonly notes?: readonly string[];
  readonly vitals?: ConsoleSource["vitals"];
  readonly acts?: readonly SandboxAct[];
  readonly act?: ConsoleSource["act"];
  /** A computation that took T ms is repeated after this many times T. Default: 100. */
  readonly restFactor?: number;
}

/**
 * Milliseconds until everything is read again without a watch event, because budget windows and nominations end by
 * time.
 */
const STALE_MS = 10_000;

interface Last {
  readonly scene: ConsoleScene;
  readonly changes: number;
  readonly readMs: number;
  /** Milliseconds of work of all scenes before this one. Undefined: this is the first scene. */
  readonly workedMs: number | undefined;
}

/** Watches open when the first page connects, and end after the last one has left. */
export function liveSource(options: LiveSourceOptions): ConsoleSource {
  const clock = new SystemClock();
  const { nowMs, notes = [], restFactor = REST_FACTOR } = options;
  let doors: SceneDoors | undefined;
  let last: Last | undefined;
  /** Scenes that are being read. Who asks meanwhile gets the same scene. */
  const reading = new Map<"early" | "whole", Promise<ConsoleScene>>();
  return {
    name: options.name,
    mode: options.mode,
    ...(options.vitals === undefined ? {} : { vitals: options.vitals }),
    acts: options.acts ?? [],
    act: options.act ?? (() => Promise.reject(new CliError("nothing can be done here"))),
    open: () => {
      doors ??= {
        cluster: openMirroredCluster(options),
        cloud: keptCloud(),
        long: new LongWork(restFactor),
        nowMs,
        notes,
      };
      return () => {
        doors?.cluster.close();
        doors = undefined;
        last = undefined;
        reading.clear();
      };
    },
    worked: (ms) => {
      if (doors !== undefined) doors.long.workedMs += ms;
    },
    scene: async ({ early = false } = {}) => {
      if (doors === undefined) throw new CliError("the cluster is not being watched");
      const { cluster, long } = doors;
      const changes = cluster.changes();
      const readMs = clock.elapsedMs();
      const age = readMs - (last?.readMs ?? 0);
      // The work of the first scene does not count, because most of it is done only once.
      const worked = last?.workedMs === undefined ? 0 : long.workedMs - last.workedMs;
      const restMs = Math.min(STALE_MS, restFactor * worked);
      const isComplete = last?.scene.loading === undefined || (early && !cluster.isWatched(POD));
      const isFresh = isComplete && age < (last?.changes === changes ? STALE_MS : restMs);
      if (last !== undefined && isFresh) return last.scene;
      const workedMs = last === undefined ? undefined : long.workedMs;
      const which = early ? "early" : "whole";
      const known = reading.get(which);
      if (known !== undefined) return known;
      const begun = readScene(doors, early);
      reading.set(which, begun);
      try {
        const scene = await begun;
        if (reading.get(which) !== begun) return scene;
        // The pods were listed meanwhile, and a scene with them was read.
        if (scene.loading !== undefined && last !== undefined && last.scene.loading === undefined)
          return last.scene;
        last = { scene, changes, readMs, workedMs };
        return scene;
      } finally {
        if (reading.get(which) === begun) reading.delete(which);
      }
    },
  };
}

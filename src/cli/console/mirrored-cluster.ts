/**
 * A cluster whose lists are answered from watches: whoever reads it again and again costs the API server nothing
 * more. A kind is watched from the first time it is listed. What may not be read, or is not served, is refused as the
 * server refuses it.
 */
import { EVENT } from "../../apis/core/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import type { KubeClient, KubeList, ListOptions } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import type { Mirror, MirrorOptions } from "../../kube/mirror/mirror.ts";
import { LiveMirrors } from "../../kube/mirror/mirrors.ts";
import { createPodFrameReader } from "../../kube/protobuf/pod-frames.ts";
import type { Transport } from "../../kube/transport/transport.ts";

export interface MirroredCluster {
  readonly client: Pick<KubeClient, "get" | "list">;
  /** How many changes came so far. */
  changes(): number;
  close(): void;
}

export interface MirroredDoors {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Nothing is asked of the server until the first list. */
export function openMirroredCluster({
  transport,
  clock,
  random,
  log,
}: MirroredDoors): MirroredCluster {
  const direct = createKubeClient(transport);
  const mirrors = new LiveMirrors({ client: direct, clock, random, log });
  const opened = new Map<string, Promise<Mirror<KubeObject>>>();
  let changes = 0;

  async function open(kind: Kind): Promise<Mirror<KubeObject>> {
    // A mirror retries for ever. The user must hear at once that the kind cannot be read.
    await direct.raw({ method: "GET", path: `${pathOf(kind)}?limit=1` });
    const mirror = mirrors.of(kind, optionsOf(kind));
    mirror.on(() => {
      changes += 1;
    });
    await mirrors.synced();
    return mirror;
  }

  async function list<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions = {},
  ): Promise<KubeList<T>> {
    if (options.fieldSelector !== undefined) return direct.list(kind, options);
    const path = pathOf(kind as Kind);
    let mirror = opened.get(path);
    if (mirror === undefined) {
      mirror = open(kind as Kind);
      opened.set(path, mirror);
      // The next reading tries again.
      mirror.catch(() => opened.delete(path));
    }
    const items = (await mirror).list() as readonly KubeObject[] as readonly T[];
    return { items, resourceVersion: "", kept: true };
  }

  return {
    client: { get: direct.get, list },
    changes: () => changes,
    close: () => mirrors.close(),
  };
}

function pathOf({ group, version, plural }: Kind): string {
  return group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;
}

function optionsOf(kind: Kind): MirrorOptions<KubeObject> {
  if (kind.plural === POD.plural) {
    const project = createPodProjection();
    const options: MirrorOptions<Pod> = { project, readFrame: createPodFrameReader(project) };
    return options as unknown as MirrorOptions<KubeObject>;
  }
  // managedFields say who last changed a pool's spec.
  if (POOL_KINDS.some(({ plural }) => plural === kind.plural)) return { project: (pool) => pool };
  return kind.plural === EVENT.plural ? { optional: true } : {};
}

/**
 * A cluster client whose lists come from watches, and a cluster state that is fed by the same watches, as in the
 * controller: only changed nodes are computed again. A kind is watched from its first list on. If a kind may not be
 * read or is not served, the server's error is returned.
 */
import {
  VERTICAL_POD_AUTOSCALER,
  type VerticalPodAutoscaler,
} from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import { EVENT } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { CLAIM_KINDS, toClaim } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { haveSameItems } from "../../base/same-items.ts";
import { type Steps, stepRunner, TURN_MS } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";
import {
  daemonSetFeed,
  limitRangeFeed,
  runtimeClassFeed,
} from "../../controllers/state/daemonsets.ts";
import type { StateFeed } from "../../controllers/state/feeder.ts";
import { nodeFeed } from "../../controllers/state/nodes.ts";
import { podFeed } from "../../controllers/state/pods.ts";
import { recordOf } from "../../core/disruption/record.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import { createClusterState } from "../../core/state/create-cluster-state.ts";
import type { KubeClient, KubeList, ListOptions } from "../../kube/client/client.ts";
import { createKubeClient } from "../../kube/client/kube-client.ts";
import type { Mirror } from "../../kube/mirror/mirror.ts";
import type { Transport } from "../../kube/transport/transport.ts";
import { currentVersion } from "../plan/manifests.ts";
import { isAlike } from "./alike.ts";
import { PROCESSOR } from "./rested.ts";
import { WatchedKinds } from "./watched-kinds.ts";

export interface MirroredCluster {
  readonly client: Pick<KubeClient, "get" | "list">;
  /**
   * The number of objects when the kind was first asked for, without listing them. Infinity: more than one, and the
   * server does not say how many. Rejects if the kind cannot be read.
   */
  count(kind: Kind): Promise<number>;
  /** Lists the kind, and resolves when its mirror has the list. Rejects if the kind cannot be read. */
  watched(kind: Kind): Promise<void>;
  /** Whether {@link watched} has resolved. */
  isWatched(kind: Kind): boolean;
  /** All watched objects of these kinds, by ascending key. The same array until something changes. */
  objects<T extends KubeObject>(...kinds: readonly Kind<T>[]): readonly T[];
  /** The object with this key (`namespace/name`). Undefined: it does not exist, or the kind is not watched. */
  object<T extends KubeObject>(kind: Kind<T>, key: string): T | undefined;
  /**
   * All claims in hub shape. The array is the same object until a claim changes.
   */
  claims(): readonly NodeClaim[];
  /**
   * The cluster state, after all changes so far. `tell` is called with the milliseconds of each step. `recommends`: new
   * pods of DaemonSets get the requests that VerticalPodAutoscalers recommend.
   */
  state(tell: (ms: number) => void, recommends: boolean): Promise<ClusterState>;
  /** The number of changes so far. */
  changes(): number;
  close(): void;
}

export interface MirroredDoors {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the client. It sends no request before the first list. */
export function openMirroredCluster({
  transport,
  clock,
  random,
  log,
}: MirroredDoors): MirroredCluster {
  const direct = createKubeClient(transport);
  const kinds = new WatchedKinds({ client: direct, clock, random, log });
  const state = new KeptState();

  async function list<T extends KubeObject>(
    kind: Kind<T>,
    options: ListOptions = {},
  ): Promise<KubeList<T>> {
    if (options.fieldSelector !== undefined || options.labelSelector !== undefined)
      return direct.list(kind, options);
    const mirror = await kinds.watched(kind as Kind);
    const items = mirror.list() as readonly KubeObject[] as readonly T[];
    return { items, resourceVersion: "", kept: true };
  }

  let claims: {
    readonly natives: readonly KubeObject[];
    readonly inHubShape: readonly NodeClaim[];
  } = { natives: [], inHubShape: [] };
  const objects = <T extends KubeObject>(...wanted: readonly Kind<T>[]): readonly T[] =>
    objectsOf(kinds.mirrors(), wanted);
  return {
    client: { get: direct.get, list },
    count: (kind) => kinds.count(kind),
    watched: async (kind) => {
      await kinds.watched(kind);
    },
    isWatched: (kind) => kinds.mirror(kind) !== undefined,
    objects,
    object: <T extends KubeObject>(kind: Kind<T>, key: string) =>
      kinds.mirror(kind as Kind)?.get(key) as T | undefined,
    claims: () => {
      const natives = objects(...(CLAIM_KINDS as readonly Kind[]));
      if (!haveSameItems(natives, claims.natives))
        claims = { natives, inHubShape: natives.map(claimOf) };
      return claims.inHubShape;
    },
    state: (tell, recommends) => {
      const autoscalers = recommends ? objects(VERTICAL_POD_AUTOSCALER) : [];
      return state.of(kinds, { autoscalers, tell });
    },
    changes: () => kinds.changes,
    close: () => kinds.close(),
  };
}

/** All objects of these kinds. If one mirror has them all, the same array until something changes. */
function objectsOf<T extends KubeObject>(
  open: readonly Mirror<KubeObject>[],
  kinds: readonly Kind<T>[],
): readonly T[] {
  const found = open.filter((mirror) =>
    kinds.some(({ group, plural }) => isOf(mirror.kind, group, plural)),
  );
  const lists = found.map((mirror) => mirror.list());
  return (lists.length === 1 ? lists[0] : lists.flat()) as readonly T[];
}

interface StateInput {
  /** The VerticalPodAutoscalers. Empty if the controller does not read them. */
  readonly autoscalers: readonly VerticalPodAutoscaler[];
  readonly tell: (ms: number) => void;
}

/** The cluster state, fed by each mirror from its first list on. */
class KeptState {
  readonly #state = createClusterState();
  readonly #fed = new Set<Mirror<KubeObject>>();
  readonly #clock = new SystemClock();
  #marked: readonly string[] = [];
  /** Provider ids of claims that a running disruption command removes, by kind and name of the claim. */
  readonly #taken = new Map<string, string>();

  #last: Promise<unknown> = Promise.resolve();

  /** Calls run one after the other, so that no caller gets a state with half of a mirror. */
  of(kinds: WatchedKinds, input: StateInput): Promise<ClusterState> {
    const state = this.#last.then(() => this.#of(kinds, input));
    this.#last = state.catch(() => undefined);
    return state;
  }

  async #of(kinds: WatchedKinds, { autoscalers, tell }: StateInput): Promise<ClusterState> {
    this.#state.admission.replaceAutoscalers(autoscalers);
    for (const feed of [...this.#claimFeeds(), ...feedsOf(this.#state)])
      for (const mirror of kinds.mirrors()) {
        if (!isOf(mirror.kind, feed.kind.group, feed.kind.plural) || this.#fed.has(mirror))
          continue;
        this.#fed.add(mirror);
        await this.#run(this.#follow(mirror, feed), tell);
      }
    const begunMs = PROCESSOR.elapsedMs();
    await kinds.settled();
    tell(PROCESSOR.elapsedMs() - begunMs);
    this.#mark();
    await this.#run(this.#state.catchUp(), tell);
    return this.#state;
  }

  #run(steps: Steps<void>, tell: StateInput["tell"]): Promise<void> {
    return stepRunner(this.#clock, TURN_MS, { clock: PROCESSOR, tell })(steps);
  }

  #follow(mirror: Mirror<KubeObject>, { put, remove }: StateFeed<KubeObject>): Steps<void> {
    return mirror.onInSteps((event, object, before) => {
      if (event === "removed") remove(object);
      else if (before === undefined || !isAlike(before, object)) put(object);
    }).feeding;
  }

  #claimFeeds(): readonly StateFeed<KubeObject>[] {
    return (CLAIM_KINDS as readonly Kind[]).map((kind) => ({
      kind,
      put: (native) => {
        const claim = claimOf(native);
        const id = recordOf(claim) === undefined ? "" : (claim.status?.providerID ?? "");
        if (id === "") this.#taken.delete(`${kind.kind}/${native.metadata.name}`);
        else this.#taken.set(`${kind.kind}/${native.metadata.name}`, id);
        this.#state.updateClaim(claim);
      },
      remove: ({ metadata }) => {
        this.#taken.delete(`${kind.kind}/${metadata.name}`);
        this.#state.deleteClaim(metadata.name, kind.kind);
      },
    }));
  }

  #mark(): void {
    const taken = [...this.#taken.values()];
    this.#state.unmarkForDeletion(...this.#marked.filter((id) => !taken.includes(id)));
    this.#state.markForDeletion(...taken);
    this.#marked = taken;
  }
}

/** The feeds in order: DaemonSets before pods, because daemon pods are recognized by their DaemonSets. */
function feedsOf(state: ClusterState): readonly StateFeed<KubeObject>[] {
  return [nodeFeed, limitRangeFeed, runtimeClassFeed, daemonSetFeed, podFeed].map(
    (feed) => feed(state) as unknown as StateFeed<KubeObject>,
  );
}

const hubShapes = new WeakMap<KubeObject, NodeClaim>();

function claimOf(native: KubeObject): NodeClaim {
  let claim = hubShapes.get(native);
  if (claim === undefined) {
    claim = toClaim(currentVersion(native) as Parameters<typeof toClaim>[0]);
    hubShapes.set(native, claim);
  }
  return claim;
}

/** Kinds with long lists, read from their mirrors. They are not listed, because a list is sorted. */
export const KEPT_KINDS: readonly Kind[] = [
  NODE,
  POD,
  EVENT,
  ...(CLAIM_KINDS as readonly Kind[]),
] as readonly Kind[];

function isOf({ group, plural }: Kind, ofGroup: string, ofPlural: string): boolean {
  return group === ofGroup && plural === ofPlural;
}

/**
 * The kinds that a console watches. A kind is listed and watched when its objects are first needed. Whether it can be
 * read, and how many objects it has, is known before, from a request for one object.
 */
import { EVENT } from "../../apis/core/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import { LatestEvents } from "../../kube/mirror/latest-events.ts";
import type { Mirror, MirrorOptions } from "../../kube/mirror/mirror.ts";
import { LiveMirrors, type MirrorsDeps } from "../../kube/mirror/mirrors.ts";
import {
  createPodFrameReader,
  createPodKeyReader,
  createPodPageReader,
} from "../../kube/protobuf/pod-frames.ts";
import { CliError } from "../program/cli-error.ts";

/** What is shared by all who ask for a kind. */
interface Opened {
  readonly counted: Promise<number>;
  watched?: Promise<Mirror<KubeObject>>;
}

/** The parts of a list that are read. */
interface KubeListBody {
  readonly items: readonly unknown[] | null;
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
}

/** The mirrors of the watched kinds. */
export class WatchedKinds {
  readonly #deps: MirrorsDeps;
  readonly #mirrors: LiveMirrors;
  readonly #opened = new Map<string, Opened>();
  /** Mirrors that have received their first list. */
  readonly #there = new Map<string, Mirror<KubeObject>>();
  /** Pods change most often, so their events are held back until a scene needs them. */
  readonly #podEvents: LatestEvents<Pod>;
  #changes = 0;
  #isClosed = false;
  #close: (error: Error) => void = () => undefined;
  /** Rejects when this is closed, because a closed mirror never gets the list that callers wait for. */
  readonly #closed = new Promise<never>((_, reject) => {
    this.#close = reject;
  });

  constructor(deps: MirrorsDeps) {
    this.#deps = deps;
    const { client, clock } = deps;
    this.#podEvents = new LatestEvents(clock, createPodKeyReader());
    const watch: typeof client.watch = (kind, options) =>
      kind.plural === POD.plural
        ? (this.#podEvents.watch(client, kind as never, options as never) as never)
        : client.watch(kind, options);
    this.#mirrors = new LiveMirrors({
      ...deps,
      client: { ...client, watch },
      trustsFirstLists: true,
    });
    this.#closed.catch(() => undefined);
  }

  /** The number of changes so far, also of those that a mirror gets only by {@link settled}. */
  get changes(): number {
    return this.#changes + this.#podEvents.arrived;
  }

  /** Resolves when the mirrors have all changes that have arrived. */
  settled(): Promise<void> {
    return this.#podEvents.settled();
  }

  /** The mirrors that have received their first list, in that order. */
  mirrors(): readonly Mirror<KubeObject>[] {
    return [...this.#there.values()];
  }

  /** The mirror of the kind. Undefined: its first list has not arrived. */
  mirror(kind: Kind): Mirror<KubeObject> | undefined {
    return this.#there.get(pathOf(kind));
  }

  /**
   * The number of objects when the kind was first asked for, without listing them. Infinity: more than one, and the
   * server does not say how many. Rejects if the kind cannot be read.
   */
  count(kind: Kind): Promise<number> {
    return this.#open(kind).counted;
  }

  /** Resolves with the mirror after its first list. Rejects if the kind cannot be read, or if this is closed before. */
  watched(kind: Kind): Promise<Mirror<KubeObject>> {
    const opened = this.#open(kind);
    if (opened.watched === undefined) {
      opened.watched = this.#watch(kind, opened.counted);
      opened.watched.catch(() => this.#forget(kind, opened));
    }
    return opened.watched;
  }

  close(): void {
    this.#isClosed = true;
    this.#close(new CliError("the watches of the cluster were closed"));
    this.#mirrors.close();
  }

  #open(kind: Kind): Opened {
    const path = pathOf(kind);
    const known = this.#opened.get(path);
    if (known !== undefined) return known;
    const opened: Opened = { counted: this.#count(path) };
    this.#opened.set(path, opened);
    opened.counted.catch(() => this.#forget(kind, opened));
    return opened;
  }

  /** After a failure the next call tries again. A try that has begun meanwhile is kept. */
  #forget(kind: Kind, failed: Opened): void {
    const path = pathOf(kind);
    if (this.#opened.get(path) === failed) this.#opened.delete(path);
  }

  /**
   * Reads one object first. A mirror would retry without end, but the user must be told at once that the kind cannot be
   * read.
   */
  async #count(path: string): Promise<number> {
    const { body } = await this.#deps.client.raw({ method: "GET", path: `${path}?limit=1` });
    const { items, metadata } = (body ?? {}) as Partial<KubeListBody>;
    const further = metadata?.continue ? Number.POSITIVE_INFINITY : 0;
    return (items?.length ?? 0) + (metadata?.remainingItemCount ?? further);
  }

  async #watch(kind: Kind, counted: Promise<number>): Promise<Mirror<KubeObject>> {
    await counted;
    if (this.#isClosed) await this.#closed;
    const mirror = this.#mirrors.of(kind, optionsOf(kind));
    await Promise.race([this.#mirrors.synced(kind), this.#closed]);
    let isListed = false;
    const { feeding } = mirror.onInSteps(() => {
      // An event that was held back has been counted when it arrived.
      const isCounted = kind.plural === POD.plural && this.#podEvents.isGiving;
      if (isListed && !isCounted) this.#changes += 1;
    });
    await inTurns(this.#deps.clock, feeding, TURN_MS);
    isListed = true;
    // The whole list is one change. Otherwise scenes would be read again and again while it is taken in.
    this.#changes += 1;
    this.#there.set(pathOf(kind), mirror);
    return mirror;
  }
}

function pathOf({ group, version, plural }: Kind): string {
  return group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;
}

function optionsOf(kind: Kind): MirrorOptions<KubeObject> {
  if (kind.plural === POD.plural) {
    const project = createPodProjection();
    const options: MirrorOptions<Pod> = {
      project,
      readFrame: createPodFrameReader(project),
      readPage: createPodPageReader(project),
    };
    return options as unknown as MirrorOptions<KubeObject>;
  }
  // managedFields show who last changed a pool's spec, so they are kept.
  if (POOL_KINDS.some(({ plural }) => plural === kind.plural)) return { project: (pool) => pool };
  return kind.plural === EVENT.plural ? { optional: true } : {};
}

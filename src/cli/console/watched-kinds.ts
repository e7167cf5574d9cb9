/**
 * The kinds that a console watches. A watch opens when the kind is first needed. Pods are listed after nodes: there are
 * many more pods, and a page can show nodes meanwhile.
 */
import { EVENT } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { CLAIM_KINDS } from "../../apis/hub/claim.ts";
import { POOL_KINDS } from "../../apis/hub/to-pool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { createPodProjection } from "../../controllers/pod-projection.ts";
import { LatestEvents } from "../../kube/mirror/latest-events.ts";
import type { Mirror, MirrorOptions } from "../../kube/mirror/mirror.ts";
import { LiveMirrors, type MirrorsDeps } from "../../kube/mirror/mirrors.ts";
import {
  createPodFrameReader,
  createPodNameReader,
  createPodPageReader,
} from "../../kube/protobuf/pod-frames.ts";
import { CliError } from "../program/cli-error.ts";

/** A kind that was requested. */
interface Opened {
  readonly begun: Promise<void>;
  readonly watched: Promise<Mirror<KubeObject>>;
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
    this.#podEvents = new LatestEvents(clock, createPodNameReader());
    const watch: typeof client.watch = (kind, options) =>
      kind.plural === POD.plural
        ? (this.#podEvents.watch(client, kind as never, options as never) as never)
        : client.watch(kind, options);
    this.#mirrors = new LiveMirrors({ ...deps, client: { ...client, watch } });
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
   * Resolves when a request has shown that the kind can be read. Then its watch begins. Rejects if it cannot be read.
   */
  begun(kind: Kind): Promise<void> {
    return this.#open(kind).begun;
  }

  /** Resolves with the mirror after its first list. Rejects if the kind cannot be read, or if this is closed before. */
  watched(kind: Kind): Promise<Mirror<KubeObject>> {
    return this.#open(kind).watched;
  }

  close(): void {
    this.#isClosed = true;
    this.#close(new CliError("the watches of the cluster were closed"));
    this.#mirrors.close();
  }

  #open(kind: Kind): Opened {
    const path = pathOf(kind);
    let known = this.#opened.get(path);
    if (known === undefined) {
      const begun = this.#begin(kind);
      known = { begun, watched: this.#watch(kind, begun) };
      this.#opened.set(path, known);
      // After a failure the next call tries again.
      known.watched.catch(() => this.#opened.delete(path));
    }
    return known;
  }

  /**
   * Reads one object first. A mirror would retry without end, but the user must be told at once that the kind cannot be
   * read.
   */
  async #begin(kind: Kind): Promise<void> {
    await this.#deps.client.raw({ method: "GET", path: `${pathOf(kind)}?limit=1` });
  }

  async #watch(kind: Kind, begun: Promise<void>): Promise<Mirror<KubeObject>> {
    await begun;
    if (kind.plural === POD.plural) await this.#nodesFirst();
    if (this.#isClosed) await this.#closed;
    const mirror = this.#mirrors.of(kind, optionsOf(kind));
    await Promise.race([this.#mirrors.synced(kind), this.#closed]);
    const { feeding } = mirror.onInSteps(() => {
      // An event that was held back has been counted when it arrived.
      if (kind.plural !== POD.plural || !this.#podEvents.isGiving) this.#changes += 1;
    });
    await inTurns(this.#deps.clock, feeding, TURN_MS);
    this.#there.set(pathOf(kind), mirror);
    return mirror;
  }

  async #nodesFirst(): Promise<void> {
    const kinds = [NODE, ...CLAIM_KINDS] as readonly Kind[];
    await Promise.allSettled(kinds.map((kind) => this.#opened.get(pathOf(kind))?.watched));
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

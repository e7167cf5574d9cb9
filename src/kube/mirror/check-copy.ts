/**
 * Compares a copy with the server while its watch stands still. A list may have lacked an object, or an event was lost:
 * no later event tells, and for pods that have a machine another would be bought.
 * karpenter-ts only: client-go never lists anew while its watch goes on.
 */
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { inTurns, type Steps, TURN_MS } from "../../base/steps.ts";
import type { KubeClient, ListOptions } from "../client/client.ts";

/** The copy, as it is at the version where its watch stands. */
export interface Copy<T extends KubeObject> {
  /** What the copy holds of an object. */
  keep(object: T): T;
  /** Whether the copy has no such object, or an older one. */
  lacks(object: T): boolean;
  /** Objects up to this version whose keys are not listed, by key. */
  notIn(listed: ReadonlySet<string>, upTo: number): Steps<readonly T[]>;
  /** Takes in what was missed, and lets go of what is gone. */
  heal(difference: Difference<T>): void;
}

interface Difference<T> {
  readonly missed: readonly T[];
  readonly gone: readonly T[];
}

interface CheckOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, "list">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly kind: Kind<T>;
  readonly selection: Pick<ListOptions, "fieldSelector" | "labelSelector" | "namespace">;
  readonly copy: Copy<T>;
}

/** How long a copy rests between two lists of its kind, */
const REST_MS = 60 * 60_000;
/** and how much longer at least than a check takes, in which nothing is heard. */
const REST_TIMES = 500;
/** Objects that are asked for by name in one check; each is a request. The others wait for the next check. */
const MOST_ASKED = 100;

/** The check of one copy. It asks for no right but to list. */
export class CopyCheck<T extends KubeObject> {
  readonly #options: CheckOptions<T>;
  #dueMs = 0;

  constructor(options: CheckOptions<T>) {
    this.#options = options;
  }

  /** The kind was listed. */
  rest(): void {
    this.#dueMs = this.#options.clock.elapsedMs() + REST_MS;
  }

  /**
   * Where it is due, once the watch stands at this version. Never rejects: whatever becomes of it, the watch goes on
   * from there.
   */
  async run(upTo: number, isWanted: () => boolean): Promise<void> {
    const { clock, copy, kind, log } = this.#options;
    const startMs = clock.elapsedMs();
    if (upTo === 0 || startMs < this.#dueMs) return;
    try {
      const difference = await this.#compare(upTo);
      const { missed, gone } = difference;
      if (isWanted()) copy.heal(difference);
      if (missed.length + gone.length > 0)
        log.warn("copy was not as the API server has it, put right", {
          kind: kind.kind,
          missed: missed.length,
          gone: gone.length,
        });
    } catch (error) {
      log.debug("could not compare the copy", { kind: kind.kind, error: String(error) });
    }
    this.rest();
    this.#dueMs = Math.max(
      this.#dueMs,
      clock.elapsedMs() + REST_TIMES * (clock.elapsedMs() - startMs),
    );
  }

  /** A list alone takes nothing away: what it lacks is asked for by its name. */
  async #compare(upTo: number): Promise<Difference<T>> {
    const { client, clock, kind, selection, copy } = this.#options;
    const missed: T[] = [];
    // Of a million objects only the names are held. What is newer than the watch, it brings.
    const keep = (item: T): T => {
      if (versionOf(item.metadata) <= upTo && copy.lacks(item)) missed.push(copy.keep(item));
      const { name, namespace } = item.metadata;
      return { metadata: { name, ...(namespace === undefined ? {} : { namespace }) } } as T;
    };
    const list = await client.list(kind, { ...selection, keep });
    // A server that lags behind: its list says nothing about now.
    if (versionOf(list) < upTo) return { missed: [], gone: [] };
    const listed = new Set(list.items.map(keyOf));
    const surplus = await inTurns(clock, copy.notIn(listed, upTo), TURN_MS);
    const gone: T[] = [];
    for (const one of surplus.slice(0, MOST_ASKED)) if (await this.#isGone(one)) gone.push(one);
    return { missed, gone };
  }

  async #isGone({ metadata: { name, namespace, uid } }: T): Promise<boolean> {
    const { client, kind, selection } = this.#options;
    const fields = [selection.fieldSelector, `metadata.name=${name}`];
    const { items } = await client.list(kind, {
      ...selection,
      ...(namespace === undefined ? {} : { namespace }),
      fieldSelector: fields.filter((one) => one !== undefined).join(","),
    });
    return items.every(({ metadata }) => metadata.uid !== uid);
  }
}

/** Selects no object: a list by it costs the server one look. */
const NO_OBJECT = "metadata.name=none";

/**
 * The version of the server's store. It is lower than before after etcd was restored from a backup: no watch that
 * began at a higher one brings anything until it is reached. Undefined: the server does not say.
 */
export async function storeVersion<T extends KubeObject>(
  client: Pick<KubeClient, "list">,
  kind: Kind<T>,
  selection: CheckOptions<T>["selection"],
): Promise<number | undefined> {
  // A right to one object by its name is none to any other.
  const fieldSelector = selection.fieldSelector ?? NO_OBJECT;
  const list = await client.list(kind, { ...selection, fieldSelector });
  return versionOf(list) || undefined;
}

function versionOf({ resourceVersion }: { readonly resourceVersion?: string }): number {
  return Number(resourceVersion) || 0;
}

/**
 * Feeds pods to the cluster state of a console. Changes are collected by pod and fed when a scene is made. A starting
 * pod changes five times within seconds, and a scene needs only its last state.
 */
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { Feed } from "../../controllers/state/feeder.ts";
import type { Mirror } from "../../kube/mirror/mirror.ts";

/** Objects in one step. Each takes some microseconds. */
const OBJECTS_PER_STEP = 64;

/** Feeds the objects of one mirror: all objects at the beginning, later changes on request. */
export class Follower {
  readonly #mirror: Mirror<KubeObject>;
  readonly #feed: Feed<KubeObject>;
  /** Key of each object that changed since it was fed → the object that was fed. Undefined: none was. */
  #changed: Map<string, KubeObject | undefined> | undefined;

  constructor(mirror: Mirror<KubeObject>, feed: Feed<KubeObject>) {
    this.#mirror = mirror;
    this.#feed = feed;
  }

  /** Feeds all objects. Call it once. */
  *begin(): Steps<void> {
    yield* this.#mirror.onInSteps((event, object, before) => {
      if (this.#changed !== undefined) this.#note(object, before);
      else if (event === "removed") this.#feed.remove(object);
      else this.#feed.put(object);
    }).feeding;
    this.#changed = new Map();
  }

  /** Feeds what changed since the last call. Changes during this call wait for the next one. */
  *catchUp(): Steps<void> {
    const changed = this.#changed;
    if (changed === undefined || changed.size === 0) return;
    this.#changed = new Map();
    yield* eachInSteps([...changed], OBJECTS_PER_STEP, ([key, fed]) => {
      this.#changed?.delete(key);
      this.#take(fed, this.#mirror.get(key));
    });
  }

  #note(object: KubeObject, before: KubeObject | undefined): void {
    const key = keyOf(object);
    if (this.#changed?.has(key) === false) this.#changed.set(key, before);
  }

  #take(fed: KubeObject | undefined, now: KubeObject | undefined): void {
    const isSame = fed?.metadata.uid === now?.metadata.uid;
    if (fed !== undefined && !isSame) this.#feed.remove(fed);
    if (now === undefined || (fed !== undefined && isSame && isAlike(fed, now))) return;
    this.#feed.put(now);
  }
}

/** Whether only the resource version differs. Unchanged parts are mostly the same objects in both. */
function isAlike(a: KubeObject, b: KubeObject): boolean {
  return haveSameParts(a, b, (x, y) => x === y || (isObject(x) && isObject(y) && areSame(x, y)));
}

function areSame(a: object, b: object): boolean {
  return haveSameParts(a, b, (x, y, name) => x === y || name === "resourceVersion");
}

function haveSameParts(
  a: object,
  b: object,
  isSame: (x: unknown, y: unknown, name: string) => boolean,
): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return names.every((name) => isSame(one[name], other[name], name));
}

/**
 * Decodes watch frames and list pages of pods from protobuf, directly to the fields that a mirror keeps. Pods of one
 * Deployment have nearly the same bytes. Parts that come from the template are recognized by their bytes and decoded
 * once. Only name, version and node are decoded for each pod. A new part is decoded as JSON and then reduced by
 * `project`, so the projection alone decides what is kept.
 */
import type { Pod, PodSpec, PodStatus, Volume } from "../../apis/core/pod.ts";
import { deepFreeze } from "../../base/json.ts";
import type { ListPage, ReadFrame, ReadPage, WatchEventType } from "../client/client.ts";
import { enterKind, unwrap } from "./envelope.ts";
import { Fields } from "./fields.ts";
import { readMessage, readTime } from "./messages.ts";
import { type KeyCopy, PartKey } from "./part-key.ts";

/** The most different parts of one sort that are remembered. If there are more, all are dropped. */
const PARTS_LIMIT = 4_096;
/**
 * The most different annotations that are remembered. The limit is low, because network plug-ins write each pod's
 * address into annotations, so they rarely repeat.
 */
const ANNOTATIONS_LIMIT = 256;
const ANNOTATIONS = 12;
const MANAGED_FIELDS = 17;

/**
 * Reads frames without their length. `project`: reduces and freezes a pod. A deleted pod has only its metadata, because
 * the mirror knows the rest.
 */
export function createPodFrameReader(project: (pod: Pod) => Pod): ReadFrame<Pod> {
  const readPod = createPodReader(project);
  return createEventReader((message, type) => readPod(message, type === "DELETED"));
}

/**
 * Reads only the key of the pod in a frame (`namespace/name`). Undefined: the frame must be decoded, because it is a
 * bookmark, or has no pod. Cursors are reused, because a busy watch delivers a thousand frames a second.
 */
export function createPodKeyReader(): (frame: Uint8Array) => string | undefined {
  let event = new Fields(Buffer.alloc(0));
  let object = event.part(0, 0);
  return ({ buffer, byteOffset, byteLength }) => {
    if (event.bytes.buffer !== buffer) {
      event = new Fields(Buffer.from(buffer));
      object = event.part(0, 0);
    }
    event.at = byteOffset;
    event.end = byteOffset + byteLength;
    // The event has a RawExtension, this has the wrapper, and this has the pod.
    if (!event.reach(2)) return undefined;
    object.enter(event);
    if (!object.reach(1)) return undefined;
    object.enter(object);
    if (!enterKind(object, "Pod", event) || !object.reach(1)) return undefined;
    object.enter(object);
    return keyIn(object);
  };
}

/** The key of the object with this metadata. Undefined: it has no name or no namespace. */
function keyIn(metadata: Fields): string | undefined {
  let [name, namespace] = ["", ""];
  while (metadata.next()) {
    if (metadata.number === 1) name = metadata.text();
    else if (metadata.number === 3) namespace = metadata.text();
    else continue;
    if (name !== "" && namespace !== "") return `${namespace}/${name}`;
  }
  return undefined;
}

function createEventReader(readPod: (message: Fields, type: string) => Pod): ReadFrame<Pod> {
  // Frames that arrived together are in one buffer and use one cursor.
  let all = new Fields(Buffer.alloc(0));
  return (frame) => {
    const { buffer, byteOffset, byteLength } = frame;
    if (all.bytes.buffer !== buffer) all = new Fields(Buffer.from(buffer));
    const event = all.part(byteOffset, byteOffset + byteLength);
    let type = "";
    let object: Fields | undefined;
    while (event.next()) {
      if (event.number === 1) type = event.text();
      else if (event.number === 2) object = rawOf(event.inner());
    }
    if (object === undefined) throw new Error("a watch event without an object");
    const { kind, message } = unwrap(object);
    if (kind === "Pod")
      return { type: type as WatchEventType, object: readPod(message, type), projected: true };
    if (kind === "Status")
      return { type: "ERROR", object: readMessage("Status", message) as unknown as Pod };
    throw new Error(`a watch on pods brought a ${kind}`);
  };
}

/** A reader of one page of pods in protobuf. `project`: drops the fields that are not read. */
export function createPodPageReader(project: (pod: Pod) => Pod): ReadPage<Pod> {
  const readPod = createPodReader(project);
  return (page) => {
    const bytes = Buffer.from(page.buffer, page.byteOffset, page.byteLength);
    const { kind, message } = unwrap(new Fields(bytes));
    if (kind !== "PodList") throw new Error(`a list of pods brought a ${kind}`);
    const metadata: {
      -readonly [K in keyof ListPage<Pod>["metadata"]]: ListPage<Pod>["metadata"][K];
    } = {};
    const items: Pod[] = [];
    while (message.next()) {
      if (message.number === 2) items.push(readPod(message.inner(), false));
      if (message.number !== 1) continue;
      const fields = message.inner();
      while (fields.next()) {
        if (fields.number === 2) metadata.resourceVersion = fields.text();
        else if (fields.number === 3) metadata.continue = fields.text();
        else if (fields.number === 4) metadata.remainingItemCount = fields.value();
      }
    }
    return { items, metadata };
  };
}

/** The raw object inside a runtime.RawExtension. */
function rawOf(fields: Fields): Fields | undefined {
  while (fields.next()) if (fields.number === 1) return fields.inner();
  return undefined;
}

/** The spec of a deleted pod, which is not decoded. */
const NO_SPEC: PodSpec = Object.freeze({ containers: Object.freeze([]) as never });

function createPodReader(project: (pod: Pod) => Pod): (message: Fields, isGone: boolean) => Pod {
  const metadataParts = new Parts<Metadata>(PARTS_LIMIT);
  const annotations = new Parts<Metadata>(ANNOTATIONS_LIMIT);
  const specs = new Parts<PodSpec>(PARTS_LIMIT);
  const statuses = new Parts<PodStatus>(PARTS_LIMIT);

  return (message, isGone) => {
    let metadata: Fields | undefined;
    let spec: Fields | undefined;
    let status: Fields | undefined;
    const { at, end } = message;
    while (message.next()) {
      if (message.number === 1) metadata = message.inner();
      else if (message.number === 2) spec = message.inner();
      else if (message.number === 3) status = message.inner();
    }
    let projected: Pod | undefined;
    // This is called only if a part is new.
    const whole = (): Pod => {
      projected ??= project(readWhole(message.part(at, end)));
      return projected;
    };
    const own = readMetadata(metadata, { shared: metadataParts, annotations }, whole);
    if (isGone)
      return Object.freeze({ apiVersion: "v1", kind: "Pod", metadata: own, spec: NO_SPEC });
    const ownSpec = readSpec(spec, specs, whole);
    // Two object literals, because object spread is several times slower.
    if (status === undefined)
      return Object.freeze({ apiVersion: "v1", kind: "Pod", metadata: own, spec: ownSpec });
    const ownStatus = readStatus(status, statuses, whole);
    return Object.freeze({
      apiVersion: "v1",
      kind: "Pod",
      metadata: own,
      spec: ownSpec,
      status: ownStatus,
    });
  };
}

/** A pod as in JSON, without unread fields and without fields that differ between pods of one template. */
function readWhole(message: Fields): Pod {
  const { metadata, spec, status } = readMessage("Pod", message);
  // A bookmark is a pod with only a version.
  const {
    nodeName: _,
    volumes: __,
    ...common
  } = { containers: [], ...(spec as object) } as PodSpec;
  return { apiVersion: "v1", kind: "Pod", metadata, spec: common, status } as unknown as Pod;
}

/** A decoded part, and the key by which it was found. */
interface Part<T> {
  readonly value: T;
  readonly key: KeyCopy;
}

/** Decoded parts of one sort, by their bytes. */
class Parts<T> {
  /** Two parts with the same hash replace each other. */
  readonly #known = new Map<number, Part<T>>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  of(key: PartKey, read: () => T): T {
    const hash = key.hash();
    const known = this.#known.get(hash);
    if (known !== undefined && key.equals(known.key)) return known.value;
    if (this.#known.size >= this.#limit) this.#known.clear();
    const part = { value: read(), key: key.copy() };
    this.#known.set(hash, part);
    return part.value;
  }
}

type Metadata = Record<string, unknown>;

/** Keys of the parts of the pod that is being read. They are used again for each part. */
const partKey = new PartKey();
const annotationsKey = new PartKey();

function readMetadata(
  fields: Fields | undefined,
  parts: { readonly shared: Parts<Metadata>; readonly annotations: Parts<Metadata> },
  whole: () => Pod,
): Pod["metadata"] {
  const own: Metadata = {};
  partKey.begin(fields);
  annotationsKey.begin(fields);
  while (fields?.next() === true) {
    const { number } = fields;
    if (number === 1) own["name"] = fields.text();
    else if (number === 5) setUnless(own, "uid", fields.text(), "");
    else if (number === 6) own["resourceVersion"] = fields.text();
    else if (number === 7) setUnless(own, "generation", fields.value(), 0);
    else if (number === 8) setUnless(own, "creationTimestamp", readTime(fields.inner()), undefined);
    else if (number === 9) setUnless(own, "deletionTimestamp", readTime(fields.inner()), undefined);
    else if (number === 10) own["deletionGracePeriodSeconds"] = fields.value();
    else if (number === ANNOTATIONS) annotationsKey.add(fields);
    else if (number !== MANAGED_FIELDS) partKey.add(fields);
  }
  const shared = parts.shared.of(partKey, () => sharedOf(whole().metadata));
  // Copying fields in a loop is many times faster than object spread.
  for (const name in shared) own[name] = shared[name];
  if (!annotationsKey.isEmpty)
    own["annotations"] = parts.annotations.of(
      annotationsKey,
      () => whole().metadata.annotations as Metadata,
    );
  return Object.freeze(own) as unknown as Pod["metadata"];
}

/** Sets the field unless it is empty. Go writes empty values into protobuf, and JSON leaves them out. */
function setUnless(own: Metadata, name: string, value: unknown, nothing: unknown): void {
  if (value !== nothing) own[name] = value;
}

/** The metadata that all pods of one template have in common. */
function sharedOf(metadata: Pod["metadata"]): Metadata {
  const { generateName, namespace, labels, ownerReferences, finalizers } = metadata;
  const all = { generateName, namespace, labels, ownerReferences, finalizers };
  const entries = Object.entries(all).filter(([, one]) => one !== undefined);
  return Object.freeze(Object.fromEntries(entries));
}

function readSpec(fields: Fields | undefined, specs: Parts<PodSpec>, whole: () => Pod): PodSpec {
  let nodeName: string | undefined;
  let volumes: Volume[] | undefined;
  partKey.begin(fields);
  while (fields?.next() === true) {
    if (fields.number === 10) {
      nodeName = fields.text() || undefined;
    } else if (fields.number === 1) {
      // Volumes without a claim do not affect scheduling, and names of token volumes differ between pods. They are left
      // out.
      if (isClaim(fields.inner())) {
        volumes ??= [];
        volumes.push(readMessage("Volume", fields.inner()) as never);
      }
    } else if (fields.number === 2 || fields.number === 20)
      partKey.addSome(fields, isReadOfContainer);
    else partKey.add(fields);
  }
  const shared = specs.of(partKey, () => whole().spec);
  if (nodeName === undefined && volumes === undefined) return shared;
  const own = copyOf(shared);
  if (nodeName !== undefined) own["nodeName"] = nodeName;
  if (volumes !== undefined) own["volumes"] = deepFreeze(volumes);
  return Object.freeze(own) as unknown as PodSpec;
}

/** A copy in a loop, because object spread of frozen objects is many times slower. */
function copyOf(object: object): Record<string, unknown> {
  const from = object as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  for (const name in from) copy[name] = from[name];
  return copy;
}

/** Whether the field of a container is read: name, ports, resources, restartPolicy. */
function isReadOfContainer(number: number): boolean {
  return number === 1 || number === 6 || number === 8 || number === 24;
}

function isClaim(volume: Fields): boolean {
  while (volume.next()) {
    if (volume.number !== 2) continue;
    const source = volume.inner();
    while (source.next()) if (source.number === 10 || source.number === 29) return true;
  }
  return false;
}

function readStatus(fields: Fields, statuses: Parts<PodStatus>, whole: () => Pod): PodStatus {
  let startTime: string | undefined;
  partKey.begin(fields);
  while (fields.next()) {
    const { number } = fields;
    if (number === 7) startTime = readTime(fields.inner());
    else if (number === 2) partKey.addSome(fields, isReadOfCondition);
    else if (number === 8 || number === 10) partKey.addSome(fields, isReadOfContainerStatus);
    else if (number === 1 || number === 4 || number === 11) partKey.add(fields);
  }
  const shared = statuses.of(partKey, () => {
    const { startTime: _, ...common } = whole().status ?? {};
    return Object.freeze(common);
  });
  if (startTime === undefined) return shared;
  const own = copyOf(shared);
  own["startTime"] = startTime;
  return Object.freeze(own) as PodStatus;
}

/** Whether the field of a condition is read: all except its times. */
function isReadOfCondition(number: number): boolean {
  return number === 1 || number === 2 || number === 5 || number === 6;
}

/** Whether the field of a container's status is read: name, ready and the resources during a resize. */
function isReadOfContainerStatus(number: number): boolean {
  return number === 1 || number === 4 || number === 10 || number === 11;
}

/**
 * Decodes watch frames and list pages of pods from protobuf, directly to the fields that a mirror keeps. Pods of one
 * Deployment have nearly the same bytes. Parts that come from the template are recognized by their bytes and decoded
 * once. Only name, version and node are decoded for each pod. A new part is decoded as JSON and then reduced by
 * `project`, so the projection alone decides what is kept.
 */
import type { Pod, PodSpec, PodStatus, Volume } from "../../apis/core/pod.ts";
import { deepFreeze } from "../../base/json.ts";
import type { ListPage, ReadFrame, ReadPage, WatchEventType } from "../client/client.ts";
import { unwrap } from "./envelope.ts";
import { Fields } from "./fields.ts";
import { readMessage, readTime } from "./messages.ts";

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
      return {
        type: type as WatchEventType,
        object: readPod(message, type === "DELETED"),
        projected: true,
      };
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
    const head = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: readMetadata(metadata, metadataParts, annotations, whole),
    };
    if (isGone) return Object.freeze({ ...head, spec: NO_SPEC });
    const ownStatus = status === undefined ? undefined : readStatus(status, statuses, whole);
    return Object.freeze({
      ...head,
      spec: readSpec(spec, specs, whole),
      ...(ownStatus === undefined ? {} : { status: ownStatus }),
    }) as Pod;
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

/** Decoded parts of one sort, by their bytes. */
class Parts<T> {
  readonly #known = new Map<string, T>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  of(key: string, read: () => T): T {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= this.#limit) this.#known.clear();
    const part = read();
    this.#known.set(key, part);
    return part;
  }
}

type Metadata = Record<string, unknown>;

function readMetadata(
  fields: Fields | undefined,
  parts: Parts<Metadata>,
  annotations: Parts<Metadata>,
  whole: () => Pod,
): Pod["metadata"] {
  const own: Metadata = {};
  const key = new Key();
  const annotated = new Key();
  while (fields?.next() === true) {
    const { number } = fields;
    if (number === 1) own["name"] = fields.text();
    else if (number === 5) setUnless(own, "uid", fields.text(), "");
    else if (number === 6) own["resourceVersion"] = fields.text();
    else if (number === 7) setUnless(own, "generation", fields.value(), 0);
    else if (number === 8) setUnless(own, "creationTimestamp", readTime(fields.inner()), undefined);
    else if (number === 9) setUnless(own, "deletionTimestamp", readTime(fields.inner()), undefined);
    else if (number === 10) own["deletionGracePeriodSeconds"] = fields.value();
    else if (number === ANNOTATIONS) annotated.add(fields, fields.begin);
    else if (number !== MANAGED_FIELDS) key.add(fields, fields.begin);
  }
  const shared = parts.of(key.text(), () => sharedOf(whole().metadata));
  // Copying fields in a loop is many times faster than object spread.
  for (const name in shared) own[name] = shared[name];
  const noted = annotated.text();
  if (noted !== "")
    own["annotations"] = annotations.of(noted, () => whole().metadata.annotations as Metadata);
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
  const volumes: Volume[] = [];
  const key = new Key();
  while (fields?.next() === true) {
    if (fields.number === 10) {
      nodeName = fields.text() || undefined;
    } else if (fields.number === 1) {
      // Volumes without a claim do not affect scheduling, and names of token volumes differ between pods. They are left
      // out.
      if (isClaim(fields.inner())) volumes.push(readMessage("Volume", fields.inner()) as never);
    } else if (fields.number === 2 || fields.number === 20) key.addSome(fields, isReadOfContainer);
    else key.add(fields, fields.begin);
  }
  const shared = specs.of(key.text(), () => whole().spec);
  if (nodeName === undefined && volumes.length === 0) return shared;
  return Object.freeze({
    ...shared,
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(volumes.length === 0 ? {} : { volumes: deepFreeze(volumes) }),
  });
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
  const key = new Key();
  while (fields.next()) {
    const { number } = fields;
    if (number === 7) startTime = readTime(fields.inner());
    else if (number === 2) key.addSome(fields, isReadOfCondition);
    else if (number === 8 || number === 10) key.addSome(fields, isReadOfContainerStatus);
    else if (number === 1 || number === 4 || number === 11) key.add(fields, fields.begin);
  }
  const shared = statuses.of(key.text(), () => {
    const { startTime: _, ...common } = whole().status ?? {};
    return Object.freeze(common);
  });
  return startTime === undefined ? shared : Object.freeze({ ...shared, startTime });
}

/** Whether the field of a condition is read: all except its times. */
function isReadOfCondition(number: number): boolean {
  return number === 1 || number === 2 || number === 5 || number === 6;
}

/** Whether the field of a container's status is read: name, ready and the resources during a resize. */
function isReadOfContainerStatus(number: number): boolean {
  return number === 1 || number === 4 || number === 10 || number === 11;
}

/** The bytes of the read fields as text, used as key of a map. Adjacent fields are added together. */
class Key {
  #text = "";
  #bytes: Buffer | undefined;
  #from = 0;
  #to = 0;

  /** Adds the current field of `fields`, starting at `from`. */
  add({ bytes, to }: Fields, from: number): void {
    if (from !== this.#to || this.#bytes !== bytes) {
      this.#flush();
      this.#bytes = bytes;
      this.#from = from;
    }
    this.#to = to;
  }

  /** Adds the wanted fields of the current message. */
  addSome(fields: Fields, isWanted: (number: number) => boolean): void {
    this.#flush();
    // The field's number and the length of the wanted parts are in the key, so that two different messages never have
    // equal keys.
    const before = this.#text.length;
    const inner = fields.inner();
    while (inner.next()) if (isWanted(inner.number)) this.add(inner, inner.begin);
    this.#flush();
    this.#text += `\n${fields.number}:${this.#text.length - before};`;
  }

  text(): string {
    this.#flush();
    return this.#text;
  }

  #flush(): void {
    if (this.#bytes !== undefined && this.#to > this.#from)
      this.#text += this.#bytes.toString("latin1", this.#from, this.#to);
    this.#from = 0;
    this.#to = 0;
  }
}

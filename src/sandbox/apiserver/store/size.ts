/**
 * How large stored objects are: what a write adds to the memory, counted on the way while the object is frozen,
 * and what etcd would have to store, which has a limit.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { encodeProtobuf, isEncodable } from "../protobuf/encode.ts";
import { ApiError } from "../request/status.ts";

/** Bytes of one request to etcd. upstream: etcd --max-request-bytes */
const ETCD_LIMIT_BYTES = 1.5 * 1_024 * 1_024;
/** Bytes of one message that kube-apiserver sends to etcd. */
const MESSAGE_LIMIT_BYTES = 2 * 1_024 * 1_024;
/** A character becomes at most this many bytes of JSON. */
const BYTES_PER_CHARACTER = 6;
const BYTES_PER_VALUE = 16;
const BYTES_PER_OBJECT = 32;

/**
 * Freezes a JSON value and all in it. Returns about how many bytes of memory it takes, without what was frozen
 * before: that is shared with an earlier state.
 */
export function freezeCounting(value: object): number {
  let bytes = BYTES_PER_OBJECT;
  if (Array.isArray(value)) {
    for (const item of value) bytes += BYTES_PER_VALUE + bytesOf(item);
  } else {
    for (const key in value)
      bytes += BYTES_PER_VALUE + key.length + bytesOf((value as Record<string, unknown>)[key]);
  }
  Object.freeze(value);
  return bytes;
}

function bytesOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return 0;
  return freezeCounting(value);
}

/**
 * Throws what kube-apiserver answers when etcd refuses an object. `bound`: a number that the bytes of
 * `freezeCounting` for this object do not exceed. Returns a bound for the next time.
 */
export function checkStorable(object: KubeObject, bound: number): number {
  if (bound * BYTES_PER_CHARACTER < ETCD_LIMIT_BYTES) return bound;
  const { apiVersion = "", kind = "" } = object;
  const bytes = isEncodable(apiVersion, kind)
    ? encodeProtobuf(object as unknown as Record<string, unknown>).length
    : Buffer.byteLength(JSON.stringify(object));
  if (bytes > MESSAGE_LIMIT_BYTES) {
    const sizes = `(${bytes} vs. ${MESSAGE_LIMIT_BYTES})`;
    const text = `trying to send message larger than max ${sizes}`;
    throw new ApiError(500, "", `rpc error: code = ResourceExhausted desc = ${text}`);
  }
  if (bytes > ETCD_LIMIT_BYTES) throw new ApiError(500, "", "etcdserver: request is too large");
  return bytes;
}

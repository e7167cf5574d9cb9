/**
 * Sizes of stored objects: how much memory a write adds, counted while the object is frozen, and how many
 * bytes etcd would store, which is limited.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { encodeProtobuf, isEncodable } from "../protobuf/encode.ts";
import { ApiError } from "../request/status.ts";

/** Largest request to etcd, in bytes. upstream: etcd --max-request-bytes */
const ETCD_LIMIT_BYTES = 1.5 * 1_024 * 1_024;
/** Largest message from kube-apiserver to etcd, in bytes. */
const MESSAGE_LIMIT_BYTES = 2 * 1_024 * 1_024;
/** Maximum number of bytes of JSON that one character can become. */
const BYTES_PER_CHARACTER = 6;
const BYTES_PER_VALUE = 16;
const BYTES_PER_OBJECT = 32;

/**
 * Freezes a JSON value and everything in it. Returns roughly how much memory it takes, in bytes. Parts that
 * were already frozen do not count: an earlier state shares them.
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
 * Throws kube-apiserver's error for an object that is too large for etcd. `bound` is an upper bound of the
 * object's `freezeCounting` bytes; small objects need no exact count. Returns a bound for the next call.
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

/**
 * What every object in Kubernetes' protobuf encoding is wrapped in: a magic number, and what kind of message
 * follows. A refusal comes like this as well, whatever was asked for.
 * upstream: k8s.io/apimachinery/pkg/runtime/generated.proto, Unknown
 */
import type { StatusBody } from "../errors.ts";
import { Fields } from "./fields.ts";
import { readMessage } from "./messages.ts";

/** The content type. Custom kinds are not available in it. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** `k8s` and a zero byte begin every object. */
const MAGIC = Buffer.from("k8s\0", "latin1");

/** Throws if the message is not such an object. */
export function unwrap(object: Fields): { readonly kind: string; readonly message: Fields } {
  const { bytes, at, end } = object;
  if (bytes.compare(MAGIC, 0, MAGIC.length, at, Math.min(at + MAGIC.length, end)) !== 0)
    throw new Error("an object that does not begin with its magic number");
  const unknown = object.part(at + MAGIC.length, end);
  let kind = "";
  let message = object.part(end, end);
  while (unknown.next()) {
    if (unknown.number === 1) kind = kindOf(unknown.inner());
    else if (unknown.number === 2) message = unknown.inner();
  }
  return { kind, message };
}

function kindOf(type: Fields): string {
  while (type.next()) if (type.number === 2) return type.text();
  return "";
}

/** The body of a refusal; undefined where it is something else. */
export function readStatusBody(body: Uint8Array): StatusBody | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const { kind, message } = unwrap(new Fields(bytes));
  return kind === "Status" ? readMessage("Status", message) : undefined;
}

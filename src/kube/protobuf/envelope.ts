/**
 * The wrapper of each object in Kubernetes' protobuf encoding: a magic number, and the kind of the message. Errors have
 * the same wrapper.
 * upstream: k8s.io/apimachinery/pkg/runtime/generated.proto, Unknown
 */
import type { StatusBody } from "../errors.ts";
import { Fields } from "./fields.ts";
import { readMessage } from "./messages.ts";

/** The content type of this encoding. Custom kinds do not support it. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** The magic number: every object begins with `k8s` and a zero byte. */
const MAGIC = Buffer.from("k8s\0", "latin1");
const MAGIC_NUMBER = MAGIC.readUInt32BE(0);

/** The kind and the message in a wrapper. Throws if the bytes are not such a wrapper. */
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

/**
 * Moves the cursor from a wrapper to the message in it. False: the wrapper is of another kind, or not as Go writes it,
 * so only {@link unwrap} can read it. `aside`: another cursor on the same buffer.
 */
export function enterKind(object: Fields, kind: string, aside: Fields): boolean {
  const { bytes, at, end } = object;
  if (end - at < MAGIC.length || bytes.readUInt32BE(at) !== MAGIC_NUMBER) return false;
  object.at = at + MAGIC.length;
  if (!object.reach(1)) return false;
  aside.enter(object);
  if (!aside.reach(2) || !isText(aside, kind) || !object.reach(2)) return false;
  object.enter(object);
  return true;
}

/** Whether the current field is this text of ASCII characters. */
function isText({ bytes, from, to }: Fields, text: string): boolean {
  if (to - from !== text.length) return false;
  for (let at = 0; at < text.length; at++)
    if (bytes[from + at] !== text.charCodeAt(at)) return false;
  return true;
}

function kindOf(type: Fields): string {
  while (type.next()) if (type.number === 2) return type.text();
  return "";
}

/** The Status in a body. Undefined: the body is something else. */
export function readStatusBody(body: Uint8Array): StatusBody | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const { kind, message } = unwrap(new Fields(bytes));
  return kind === "Status" ? readMessage("Status", message) : undefined;
}

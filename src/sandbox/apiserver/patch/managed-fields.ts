/** Placeholder until the ownership notes are written. */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";

export function ownedAfterWrite(
  _call: Call,
  _next: KubeObject,
  current: KubeObject | undefined,
  _subresource: string,
): readonly unknown[] {
  return current?.metadata.managedFields ?? [];
}

import type { KubeObject } from "../../../apis/meta.ts";
import { applyMergePatch } from "../../../base/json.ts";
import type { Schema } from "../schema/schema.ts";
export function applyStrategicPatch(current: KubeObject, body: unknown, _schema: Schema): unknown {
  return applyMergePatch(current, body);
}

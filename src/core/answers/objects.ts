/** How answers name objects. */
import type { Pool } from "../../apis/hub/pool.ts";
import type { ObjectName } from "../disruption/candidates.ts";

export function poolObject({ generation, name }: Pool): ObjectName {
  return { kind: generation === "alpha" ? "Provisioner" : "NodePool", name };
}

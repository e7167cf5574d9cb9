/** The names of objects in answers. */
import type { Pool } from "../../apis/hub/pool.ts";
import type { ObjectName } from "../disruption/candidates.ts";

/** The kind and name by which users know the pool. */
export function poolObject({ generation, name }: Pool): ObjectName {
  return { kind: generation === "alpha" ? "Provisioner" : "NodePool", name };
}

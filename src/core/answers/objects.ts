/** How answers name objects. */
import type { Pool } from "../../apis/hub/pool.ts";
import type { ObjectName } from "../disruption/candidates.ts";

/** How the pool is named to users, by kind and name. */
export function poolObject({ generation, name }: Pool): ObjectName {
  return { kind: generation === "alpha" ? "Provisioner" : "NodePool", name };
}

/** Fixes of objects other than the pod and NodePools, such as volumes and device classes; and that of a missing object. */
import { meantName } from "../../base/slips.ts";
import type { PlannedEdit } from "./planned-edit.ts";

export interface ObjectFix {
  readonly text: string;
  readonly edits: readonly PlannedEdit[];
}

/** The fix for an object that is missing. Its text also names one of the known objects that may be meant. */
export function addObject(kind: string, name: string, known: readonly string[]): ObjectFix {
  const meant = meantName(name, known);
  return {
    text: `${meant === undefined ? "" : `did you mean ${kind} ${meant}? Or `}create ${kind} ${name}`,
    edits: [{ object: `${kind} ${name}`, field: "metadata.name", action: "add", value: name }],
  };
}

/** Cells of the built-in kinds, as kubectl's tables show them. */
import type { KubeObject } from "../../../apis/meta.ts";
import { ageCell } from "./age.ts";

export type Cells = (object: KubeObject, nowMs: number) => readonly unknown[];

/** The row maker of a kind. Kinds without one show name, blanks and age. */
export function builtinCells(_group: string, _kind: string, columns: number): Cells {
  return (object, nowMs) => [
    object.metadata.name,
    ...Array.from({ length: Math.max(0, columns - 2) }, () => ""),
    ageCell(object, nowMs),
  ];
}

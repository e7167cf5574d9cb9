/**
 * Columns and cells of custom kinds, from `additionalPrinterColumns`. The first column is always the name.
 * Without any declared column there is an Age.
 * upstream: apiextensions-apiserver pkg/registry/customresource/tableconvertor
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Column } from "../resource-definition.ts";
import { sinceCell } from "./age.ts";
import { jsonPath } from "./json-path.ts";

/** One entry of `additionalPrinterColumns`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

const DEFAULT_COLUMNS: readonly PrinterColumn[] = [
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** The printer columns of a CRD version: the declared ones, or else Age. */
export function printerColumns(
  declared: readonly PrinterColumn[] | undefined,
): readonly PrinterColumn[] {
  return declared === undefined || declared.length === 0 ? DEFAULT_COLUMNS : declared;
}

/** The columns of a custom kind: its name, then those of its CRD. */
export function customColumns(columns: readonly PrinterColumn[]): readonly Column[] {
  return [
    { name: "Name", type: "string", format: "name", description: "", priority: 0 },
    ...columns.map((column) => ({
      name: column.name,
      type: column.type,
      format: column.format ?? "",
      description:
        column.description ??
        `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
      priority: column.priority ?? 0,
    })),
  ];
}

/** The row maker for these columns. */
export function customCells(
  columns: readonly PrinterColumn[],
): (object: KubeObject, nowMs: number) => readonly unknown[] {
  const readers = columns.map((column) => ({ type: column.type, read: jsonPath(column.jsonPath) }));
  return (object, nowMs) => [
    object.metadata.name,
    ...readers.map(({ type, read }) => toCell(type, read(object), nowMs)),
  ];
}

function toCell(type: string, found: readonly unknown[], nowMs: number): unknown {
  const value = found[0];
  if (value === undefined) return null;
  switch (type) {
    case "integer":
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return sinceCell(value, nowMs);
    default:
      return typeof value === "object" ? JSON.stringify(value) : String(value);
  }
}

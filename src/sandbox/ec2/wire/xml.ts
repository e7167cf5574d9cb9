/**
 * Encodes answers of AWS's query protocols: the output of a call becomes XML, with the shape of the response.
 * Members that the shape does not have are left out.
 */
import { isObject } from "../../../base/json.ts";
import type { Member, Shapes } from "./shape.ts";

/** The members of `value` as XML elements. `itemTag` names list items: `item` or `member`. */
export function encodeXml(
  value: unknown,
  shapes: Shapes,
  structure: string,
  itemTag: string,
): string {
  if (!isObject(value)) return "";
  let xml = "";
  for (const member of shapes.get(structure) ?? []) {
    const field = value[member.name];
    if (field === undefined || field === null) continue;
    xml += `<${member.wire}>${encodeMember(field, member, shapes, itemTag)}</${member.wire}>`;
  }
  return xml;
}

function encodeMember(field: unknown, member: Member, shapes: Shapes, itemTag: string): string {
  if (!member.isList) return encodeOne(field, member, shapes, itemTag);
  const items = Array.isArray(field) ? field : [];
  const tag = member.itemTag ?? itemTag;
  return items
    .map((item) => `<${tag}>${encodeOne(item, member, shapes, itemTag)}</${tag}>`)
    .join("");
}

function encodeOne(value: unknown, member: Member, shapes: Shapes, itemTag: string): string {
  return typeof member.type === "string"
    ? escapeXml(String(value))
    : encodeXml(value, shapes, member.type.structure, itemTag);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#xD;",
};

/** Escapes text for XML. */
export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"\r]/g, (char) => ENTITIES[char] as string);
}

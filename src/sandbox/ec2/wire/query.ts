/**
 * Decodes requests of AWS's query protocols: flat form keys (`Filter.1.Value.2`) become the input of a call.
 * An unknown key or a value of the wrong type is refused, and the error names it.
 */
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Member, Shapes } from "./shape.ts";

interface Node {
  value: string | undefined;
  readonly children: Map<string, Node>;
}

/** Form keys of the protocol itself. */
const ENVELOPE: ReadonlySet<string> = new Set(["Action", "Version", "SignatureVersion"]);

/**
 * Decodes a form with the shape of a request. `listInfix` is `member` if list keys are `Tags.member.1`, and
 * empty if they are `Tag.1`.
 */
export function decodeQuery(
  form: URLSearchParams,
  shapes: Shapes,
  structure: string,
  listInfix: string,
): Record<string, unknown> {
  const root: Node = { value: undefined, children: new Map() };
  for (const [key, value] of form) {
    if (ENVELOPE.has(key) || key.startsWith("X-Amz-") || key === "AWSAccessKeyId") continue;
    let node = root;
    for (const part of key.split(".")) {
      let child = node.children.get(part);
      if (child === undefined) {
        child = { value: undefined, children: new Map() };
        node.children.set(part, child);
      }
      node = child;
    }
    node.value = value;
  }
  return decodeStructure(root, shapes, structure, listInfix, "");
}

function decodeStructure(
  node: Node,
  shapes: Shapes,
  structure: string,
  listInfix: string,
  path: string,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const members = shapes.get(structure) ?? [];
  const known = new Map(members.map((member) => [member.wire, member]));
  for (const [key, child] of node.children) {
    const here = path === "" ? key : `${path}.${key}`;
    const member = known.get(key);
    if (member === undefined) {
      throw new AwsError("UnknownParameter", `The parameter ${here} is not recognized`);
    }
    result[member.name] = member.isList
      ? decodeList(child, member, shapes, listInfix, here)
      : decodeOne(child, member, shapes, listInfix, here);
  }
  return result;
}

function decodeList(
  node: Node,
  member: Member,
  shapes: Shapes,
  listInfix: string,
  path: string,
): unknown[] {
  const items = listInfix === "" ? node : (node.children.get(listInfix) ?? node);
  const numbered = [...items.children].map(([index, child]) => {
    if (/^\d+$/.test(index)) return { index: Number(index), child };
    throw new AwsError("UnknownParameter", `The parameter ${path}.${index} is not recognized`);
  });
  numbered.sort((a, b) => a.index - b.index);
  return numbered.map(({ index, child }) =>
    decodeOne(child, member, shapes, listInfix, `${path}.${index}`),
  );
}

function decodeOne(
  node: Node,
  member: Member,
  shapes: Shapes,
  listInfix: string,
  path: string,
): unknown {
  if (typeof member.type !== "string") {
    return decodeStructure(node, shapes, member.type.structure, listInfix, path);
  }
  const text = node.value ?? "";
  if (node.children.size > 0) {
    const [inner] = [...node.children.keys()];
    throw new AwsError("UnknownParameter", `The parameter ${path}.${inner} is not recognized`);
  }
  switch (member.type) {
    case "number": {
      const value = Number(text);
      if (text !== "" && Number.isFinite(value)) return value;
      throw invalid(path, text, "a number");
    }
    case "boolean":
      if (text === "true" || text === "false") return text === "true";
      throw invalid(path, text, "true or false");
    default:
      return text;
  }
}

function invalid(path: string, text: string, expected: string): AwsError {
  const message = `Value (${text}) for parameter ${path} is invalid. Expected ${expected}.`;
  return new AwsError("InvalidParameterValue", message);
}

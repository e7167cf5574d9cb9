/**
 * Shape tables: a few lines of text that give the wire name and type of each member of AWS's structures. The
 * encoders and decoders follow them, so a new call needs a new line and no new code.
 */

/** How a value is written on the wire. */
export type Scalar = "text" | "number" | "boolean" | "time";

/** One field of a structure, with its name on the wire. */
export interface Member {
  readonly name: string;
  readonly wire: string;
  /** The scalar, or the name of a structure. */
  readonly type: Scalar | { readonly structure: string };
  readonly isList: boolean;
  /** The element name of list items, if it is not the protocol's usual one. */
  readonly itemTag: string | undefined;
}

/** Structures by name, members in the order of the table. */
export type Shapes = ReadonlyMap<string, readonly Member[]>;

const SCALARS: Readonly<Record<string, Scalar>> = {
  n: "number",
  b: "boolean",
  t: "time",
  s: "text",
};

/**
 * Parses a table: `Structure: Member=wire:type Member …`. A line that begins with a blank continues the line
 * before. `wireName` gives the wire name where the table has none. Throws for a name that is not defined.
 */
export function compileShapes(table: string, wireName: (member: string) => string): Shapes {
  const shapes = new Map<string, Member[]>();
  let members: Member[] = [];
  for (const line of table.split("\n")) {
    const head = /^(\w+):(.*)$/.exec(line);
    if (head !== null) {
      members = [];
      shapes.set(head[1] as string, members);
    }
    const words = (head?.[2] ?? line).split(/\s+/).filter((word) => word !== "");
    for (const word of words) members.push(compileMember(word, wireName));
  }
  for (const [structure, list] of shapes) {
    for (const member of list) {
      if (typeof member.type === "string" || shapes.has(member.type.structure)) continue;
      throw new Error(`shape ${structure}.${member.name}: no structure ${member.type.structure}`);
    }
  }
  return shapes;
}

function compileMember(word: string, wireName: (member: string) => string): Member {
  const match = /^(\w+)(?:=(\w+))?(?::(\[)?(\w+)\]?(\w+)?)?$/.exec(word);
  if (match === null) throw new Error(`shape member ${word} is malformed`);
  const [, name = "", wire, bracket, type = "s", itemTag] = match;
  return {
    name,
    wire: wire ?? wireName(name),
    type: SCALARS[type] ?? { structure: type },
    isList: bracket !== undefined,
    itemTag,
  };
}

/** Makes the first letter a capital: `describeSubnets` → `DescribeSubnets`. */
export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Makes the first letter small: `SubnetId` → `subnetId`. */
export function uncapitalised(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

/**
 * Whether an object passes EC2's filters, judged here by how EC2 describes the object. Proofs need this: a list that
 * lacks an object does not say whether the object fails the filters or the list is short. Pure.
 */
import type { Filter, Tag } from "../api/call.ts";

/** An object as filters see it: the fields that filters name, and its tags. */
export interface FilteredObject {
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly tags: readonly Tag[];
}

/** Whether the object passes all filters. A field that EC2's description lacks fails no filter. */
export function passes(filters: readonly Filter[], one: FilteredObject): boolean {
  return filters.every(({ Name, Values }) => {
    const hit = (value: string): boolean => Values.some((pattern) => fits(pattern, value));
    if (Name === "tag-key") return one.tags.some(({ Key }) => hit(Key));
    if (Name.startsWith("tag:")) {
      const key = Name.slice("tag:".length);
      return one.tags.some(({ Key, Value }) => Key === key && hit(Value));
    }
    const value = one.fields[Name];
    return value === undefined || hit(value);
  });
}

/**
 * Whether the text fits the pattern: `*` stands for any characters, `?` for one, and a backslash takes the meaning from
 * the next character. Takes at most the product of both lengths in steps.
 */
export function fits(pattern: string, text: string): boolean {
  const signs = signsOf(pattern);
  let at = 0;
  let sign = 0;
  /** Where the last `*` stands, and from where in the text the rest of the pattern was last tried. */
  let star = -1;
  let tried = 0;
  while (at < text.length) {
    const wanted = signs[sign];
    if (wanted === "any") {
      star = sign++;
      tried = at;
    } else if (wanted === "one" || wanted?.char === text[at]) {
      sign++;
      at++;
    } else if (star >= 0) {
      sign = star + 1;
      at = ++tried;
    } else return false;
  }
  return signs.slice(sign).every((rest) => rest === "any");
}

type Sign = "any" | "one" | { readonly char: string };

function signsOf(pattern: string): readonly Sign[] {
  const signs: Sign[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] as string;
    if (char === "\\" && at + 1 < pattern.length) signs.push({ char: pattern[++at] as string });
    else if (char === "*") signs.push("any");
    else if (char === "?") signs.push("one");
    else signs.push({ char });
  }
  return signs;
}

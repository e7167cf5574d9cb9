/** Finds the line of a field in a YAML or JSON text, for messages about fields that are read but not known. */
import { EVENT_ID, type Event, parseEvents } from "js-yaml";

/** A list or map that is still open. */
interface Open {
  readonly path: string;
  readonly isMap: boolean;
  /** Number of keys and values, or of items, so far. */
  children: number;
  /** The path of the value that comes next in a map. */
  next: string;
}

/** The lines of the fields of one document, by path: `spec.taints[0].key`. */
type FieldLines = ReadonlyMap<string, number>;

/**
 * The lines of the fields of each document that is a list or map. If a field occurs twice, the last line counts. A
 * field behind an alias has no line. Empty if the YAML parser does not read the text. The text must have been read
 * before, so that its limits are checked. Takes time proportional to the length of the text.
 */
export function fieldLines(text: string): readonly FieldLines[] {
  const documents: Map<string, number>[] = [];
  const open: Open[] = [];
  const lineAt = lineCounter(text);
  for (const event of eventsOf(text)) {
    if (event.type === EVENT_ID.DOCUMENT) open.length = 0;
    if (event.type === EVENT_ID.POP) open.pop();
    if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) continue;
    const parent = open.at(-1);
    const path = parent === undefined ? "" : stepInto(parent, event, text);
    if (event.type === EVENT_ID.SCALAR && isKey(parent))
      documents.at(-1)?.set(path, lineAt(event.valueStart));
    if (event.type !== EVENT_ID.MAPPING && event.type !== EVENT_ID.SEQUENCE) continue;
    if (parent === undefined) documents.push(new Map());
    open.push({ path, isMap: event.type === EVENT_ID.MAPPING, children: 0, next: "" });
  }
  return documents;
}

/** Returns the line of an offset, from 1. The offsets must be given in ascending order. */
function lineCounter(text: string): (offset: number) => number {
  let line = 1;
  let end = text.indexOf("\n");
  return (offset) => {
    for (; end >= 0 && end < offset; end = text.indexOf("\n", end + 1)) line++;
    return line;
  };
}

/** Counts the event in its list or map. Returns the path of the key, the value or the item. */
function stepInto(parent: Open, event: Event, text: string): string {
  const index = parent.children++;
  if (!parent.isMap) return `${parent.path}[${index}]`;
  if (index % 2 === 1) return parent.next;
  const key = event.type === EVENT_ID.SCALAR ? text.slice(event.valueStart, event.valueEnd) : "";
  parent.next = parent.path === "" ? key : `${parent.path}.${key}`;
  return parent.next;
}

/** Whether the last counted child of this map is a key. */
function isKey(parent: Open | undefined): boolean {
  return parent?.isMap === true && parent.children % 2 === 1;
}

function eventsOf(text: string): readonly Event[] {
  try {
    return parseEvents(text, {});
  } catch {
    return [];
  }
}

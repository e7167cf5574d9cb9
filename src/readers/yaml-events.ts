/**
 * Checks the parser's events of a YAML text before values are built from them. Limits nesting and repetition, including
 * what aliases stand for, and refuses keys that are lists or maps. Takes one step for each event.
 */
import { EVENT_ID, type Event } from "js-yaml";
import { MOST_NESTED, MOST_REPEATED } from "./limits.ts";

/** A list or map: one that is still open, or one that an anchor names. */
interface Node {
  readonly isMap: boolean;
  /** Number of values in the list or map, including itself and what aliases stand for. */
  values: number;
  /** Levels of nesting, including itself and what aliases stand for. */
  height: number;
  /** Number of keys and values, or of items, so far. */
  children: number;
  isOpen: boolean;
}

/** A problem, and its offset in the text. */
export interface EventProblem {
  readonly problem: string;
  readonly offset: number;
}

/** The problem and remedy for text that is nested too deep. */
export const TOO_DEEP = `lists or maps in one another, more than ${MOST_NESTED} deep; flatten them`;
const TOO_MANY_REPEATED = `aliases repeat more than ${MOST_REPEATED.toLocaleString("en-US")} values; write fewer of them`;
const HOLDS_ITSELF = "what an anchor stands for contains itself; write it out instead";
const KEY_NO_TEXT = "a list or map is used as a key; keys are text";

/** The first problem of the events of one text. Undefined: there is none. */
export function eventProblem(events: readonly Event[], text: string): EventProblem | undefined {
  const open: Node[] = [];
  let anchors = new Map<string, Node>();
  let repeated = 0;
  for (const event of events) {
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        anchors = new Map();
        open.push(newNode(false));
        break;
      case EVENT_ID.SEQUENCE:
      case EVENT_ID.MAPPING: {
        const parent = open.at(-1) as Node;
        // The document is the first open level, so `>` allows MOST_NESTED lists and maps below it.
        if (open.length > MOST_NESTED) return { problem: TOO_DEEP, offset: event.start };
        if (isKey(parent)) return { problem: KEY_NO_TEXT, offset: event.start };
        const node = newNode(event.type === EVENT_ID.MAPPING);
        if (event.anchorStart >= 0)
          anchors.set(text.slice(event.anchorStart, event.anchorEnd), node);
        open.push(node);
        break;
      }
      case EVENT_ID.SCALAR: {
        if (event.anchorStart >= 0) anchors.delete(text.slice(event.anchorStart, event.anchorEnd));
        addChild(open.at(-1) as Node, 1, 0);
        break;
      }
      case EVENT_ID.ALIAS: {
        const parent = open.at(-1) as Node;
        const target = anchors.get(text.slice(event.anchorStart, event.anchorEnd));
        const problem = aliasProblem(target, open.length - 1, isKey(parent));
        repeated += target?.values ?? 1;
        if (problem !== undefined || repeated > MOST_REPEATED)
          return { problem: problem ?? TOO_MANY_REPEATED, offset: event.anchorStart };
        addChild(parent, target?.values ?? 1, target?.height ?? 0);
        break;
      }
      case EVENT_ID.POP: {
        const node = open.pop() as Node;
        node.isOpen = false;
        const parent = open.at(-1);
        if (parent !== undefined) addChild(parent, node.values, node.height);
      }
    }
  }
  return undefined;
}

/**
 * The problem with an alias. Undefined: there is none. An alias without a target is left to the parser, which reports
 * it.
 */
function aliasProblem(target: Node | undefined, depth: number, asKey: boolean): string | undefined {
  if (target === undefined) return undefined;
  if (target.isOpen) return HOLDS_ITSELF;
  if (asKey) return KEY_NO_TEXT;
  return depth + target.height > MOST_NESTED ? TOO_DEEP : undefined;
}

function newNode(isMap: boolean): Node {
  return { isMap, values: 1, height: 1, children: 0, isOpen: true };
}

function isKey(parent: Node): boolean {
  return parent.isMap && parent.children % 2 === 0;
}

function addChild(parent: Node, values: number, height: number): void {
  parent.values += values;
  if (height >= parent.height) parent.height = height + 1;
  parent.children++;
}

/**
 * Where each node stands on the map. A node keeps its slot while it lives and its group stays; a freed slot is used again.
 * A group has a quarter more room than it needs; only when it outgrows that do groups move.
 */

export interface Slotted {
  /** Group → node → slot. */
  readonly groups: ReadonlyMap<string, Group>;
}

export interface Group {
  readonly slots: ReadonlyMap<string, number>;
  /** Slots that there is room for. */
  readonly room: number;
}

const HEAD_ROOM = 1.25;

/** `wanted`: node → group, in the order in which new ones get their slots. */
export function slotted(before: Slotted, wanted: ReadonlyMap<string, string>): Slotted {
  const members = new Map<string, string[]>();
  for (const [node, group] of wanted) {
    const known = members.get(group);
    if (known === undefined) members.set(group, [node]);
    else known.push(node);
  }
  const names = [...members.keys()].sort();
  return {
    groups: new Map(
      names.map((name) => [name, withMembers(before.groups.get(name), members.get(name) ?? [])]),
    ),
  };
}

function withMembers(before: Group | undefined, members: readonly string[]): Group {
  const there = new Set(members);
  const slots = new Map<string, number>();
  for (const [node, slot] of before?.slots ?? []) if (there.has(node)) slots.set(node, slot);
  const used = new Set(slots.values());
  let next = 0;
  for (const node of members) {
    if (slots.has(node)) continue;
    while (used.has(next)) next += 1;
    used.add(next);
    slots.set(node, next);
  }
  const least = Math.max(1, ...used) + 1;
  const room =
    before !== undefined && least <= before.room ? before.room : Math.ceil(least * HEAD_ROOM);
  return { slots, room };
}

export interface Box {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly columns: number;
}

export interface Layout {
  /** Edge of a tile, gap included. */
  readonly tile: number;
  readonly boxes: readonly Box[];
  readonly height: number;
}

export const HEADER = 26;
const PADDING = 8;
const GAP = 12;
/** A node with its pods as marks, down to a fill alone. */
const TILES = [120, 96, 72, 56, 44, 34, 26, 20, 16, 13, 10, 8, 6];

/** The largest tiles with which all groups fit; the smallest where none do. */
export function layoutOf({ groups }: Slotted, width: number, height: number): Layout {
  let layout: Layout = { tile: 6, boxes: [], height: 0 };
  for (const tile of TILES) {
    layout = shelves(groups, tile, width);
    if (layout.height <= height) break;
  }
  return layout;
}

/** Boxes side by side, a row below the other. */
function shelves(groups: Slotted["groups"], tile: number, width: number): Layout {
  const boxes: Box[] = [];
  const most = Math.max(1, Math.floor((width - 2 * PADDING) / tile));
  let [x, y, tallest] = [0, 0, 0];
  for (const [name, { room }] of groups) {
    const wide = Math.ceil(Math.sqrt(room * 2));
    const columns = Math.min(most, Math.max(wide, Math.ceil(150 / tile)));
    const box = {
      width: Math.min(width, columns * tile + 2 * PADDING),
      height: Math.ceil(room / columns) * tile + HEADER + PADDING,
    };
    if (x > 0 && x + box.width > width) {
      x = 0;
      y += tallest + GAP;
      tallest = 0;
    }
    boxes.push({ name, x, y, ...box, columns });
    x += box.width + GAP;
    tallest = Math.max(tallest, box.height);
  }
  return { tile, boxes, height: y + tallest };
}

/** The top left corner of a slot's tile. */
export function placeOfSlot({ x, y, columns }: Box, slot: number, tile: number) {
  return {
    x: x + PADDING + (slot % columns) * tile,
    y: y + HEADER + Math.floor(slot / columns) * tile,
  };
}

/** The slot at a point, arithmetic only; undefined beside all tiles. */
export function slotAt(layout: Layout, atX: number, atY: number) {
  const { tile } = layout;
  for (const box of layout.boxes) {
    const column = Math.floor((atX - box.x - PADDING) / tile);
    const row = Math.floor((atY - box.y - HEADER) / tile);
    if (column < 0 || column >= box.columns || row < 0) continue;
    if (atX > box.x + box.width || atY > box.y + box.height) continue;
    return { group: box.name, slot: row * box.columns + column };
  }
  return undefined;
}

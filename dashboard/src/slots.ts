/**
 * The slot of each node on the map. A node keeps its slot as long as it exists and its group stays; a freed
 * slot is used again. A group gets a quarter more slots than it needs. Groups move only when one of them needs
 * more than its slots.
 */

export interface Slotted {
  /** The slot of each node, by group and node. */
  readonly groups: ReadonlyMap<string, Group>;
}

export interface Group {
  readonly slots: ReadonlyMap<string, number>;
  /** Number of slots for which the group's box has room. */
  readonly room: number;
}

const HEAD_ROOM = 1.25;

/** Assigns slots. `wanted`: node → group, in the order in which new nodes get their slots. */
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
  /** Length of a tile's edge in pixels, with the gap. */
  readonly tile: number;
  readonly boxes: readonly Box[];
  readonly height: number;
}

export const HEADER = 26;
const PADDING = 8;
const GAP = 12;
/** Lengths of a tile's edge in pixels. The largest tiles show a node with its pods, the smallest only a colour. */
const TILES = [120, 96, 72, 56, 44, 34, 26, 20, 16, 13, 10, 8, 6];

/** Columns for each row of a group's box. The first one that fits is used: 2 is the easiest to look over. */
const SHAPES = [2, 4, 1, 8, 0.5, 32];

/** The layout with the largest tiles for which all groups fit, or else with the smallest tiles. */
export function layoutOf({ groups }: Slotted, width: number, height: number): Layout {
  for (const tile of TILES)
    for (const shape of SHAPES) {
      const layout = shelves(groups, { tile, shape }, width);
      if (layout.height <= height) return layout;
    }
  return shelves(groups, { tile: TILES.at(-1) as number, shape: SHAPES[0] as number }, width);
}

/** Places the boxes of groups side by side, in rows. */
function shelves(
  groups: Slotted["groups"],
  { tile, shape }: { readonly tile: number; readonly shape: number },
  width: number,
): Layout {
  const boxes: Box[] = [];
  const most = Math.max(1, Math.floor((width - 2 * PADDING) / tile));
  let [x, y, tallest] = [0, 0, 0];
  for (const [name, { room }] of groups) {
    const wide = Math.ceil(Math.sqrt(room * shape));
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

/** The slot at a point, computed from the layout. Undefined if the point is on no tile. */
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

import { describe, expect, it } from "vitest";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { atOnce } from "../../base/steps.ts";
import { node } from "../../testing/builders.ts";
import { nodeView } from "../state/node-view.ts";
import { type CommandRecord, recordOf, withoutRecord, withRecord } from "./record.ts";
import { findUnfinished } from "./unfinished.ts";

const NOW_MS = 1_000_000_000_000;

const record = (replacements: number, ageMs = 60_000): CommandRecord => ({
  id: "c1",
  reason: "Drifted",
  consolidationType: "",
  startedAt: toRfc3339(NOW_MS - ageMs),
  nodes: ["a", "b"],
  replacements,
});

function claim(name: string, annotations: Record<string, string> = {}, registered = true) {
  const status = registered ? ("True" as const) : ("Unknown" as const);
  const at = toRfc3339(NOW_MS);
  const conditions = [{ type: "Registered", status, reason: "x", lastTransitionTime: at }];
  const spec = { requirements: [], nodeClassRef: { group: "g", kind: "k", name: "n" } };
  return { metadata: { name, annotations }, spec, status: { conditions } } as NodeClaim;
}

const CLOSED = [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] as const;

const view = (one: NodeClaim, withNode = true, closed = false) =>
  nodeView({
    node: withNode
      ? node({ name: one.metadata.name, ...(closed ? { taints: [...CLOSED] } : {}) })
      : undefined,
    claim: one,
    pods: [],
    marked: false,
    nominatedUntilMs: 0,
  });

const replacement = (name: string, registered: boolean) =>
  view(claim(name, { "karpenter.sh/replacement-for-command": "c1" }, registered), registered);

const leaving = (one: CommandRecord) => [
  view(withRecord(claim("a"), one), true, true),
  view(withRecord(claim("b"), one), true, true),
];

/** The nodes and replacements of all commands that are rolled back, each in one list. */
function found(nodes: Parameters<typeof findUnfinished>[0], queued: readonly string[] = []) {
  const { resume, rolledBack: takenBack } = atOnce(findUnfinished(nodes, new Set(queued), NOW_MS));
  const reopen = takenBack.flatMap((one) => one.nodes);
  return { resume, reopen, discard: takenBack.flatMap(({ discard }) => discard) };
}

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

describe("unfinished commands", () => {
  it("continue if all of their replacements exist", () => {
    const nodes = [...leaving(record(1)), replacement("r", false), view(claim("other"))];
    const { resume, reopen, discard } = found(nodes);
    expect(resume.map(({ nodes, replacements }) => [names(nodes), replacements.length])).toEqual([
      [["a", "b"], 1],
    ]);
    expect([reopen, discard]).toEqual([[], []]);
  });

  it("are rolled back if replacements are missing, and unused replacements are deleted", () => {
    const nodes = [...leaving(record(3)), replacement("new", false), replacement("used", true)];
    const { resume, reopen, discard } = found(nodes);
    expect(resume).toEqual([]);
    expect(names(reopen)).toEqual(["a", "b"]);
    expect(discard.map(({ metadata }) => metadata.name)).toEqual(["new"]);
  });

  it("are rolled back if they have no replacements, or began long ago", () => {
    const plain = found(leaving(record(0)));
    expect(names(plain.reopen)).toEqual(["a", "b"]);
    const nodes = [...leaving(record(1, 2 * 60 * 60_000)), replacement("r", true)];
    const old = found(nodes);
    expect([names(old.reopen), old.discard]).toEqual([["a", "b"], []]);
  });

  it("are rolled back if one of their nodes is not tainted, as new pods may have come", () => {
    const [first] = leaving(record(1));
    const open = view(withRecord(claim("b"), record(1)));
    const nodes = [first as typeof open, open, replacement("new", false)];
    const { resume, reopen, discard } = found(nodes);
    expect([resume, names(reopen)]).toEqual([[], ["a", "b"]]);
    expect(discard.map(({ metadata }) => metadata.name)).toEqual(["new"]);
  });

  it("are rolled back completely if the rollback of one node had already begun", () => {
    const closed = view(withRecord(claim("a"), record(1)), true, true);
    const unmarked = view(claim("b"));
    const anew = view(withRecord(claim("b"), { ...record(1), id: "c2" }), true, true);
    for (const other of [unmarked, anew]) {
      const nodes = [closed, other, replacement("new", false)];
      const { resume, reopen, discard } = found(nodes, ["b"]);
      expect([resume, names(reopen)]).toEqual([[], ["a"]]);
      expect(discard.map(({ metadata }) => metadata.name)).toEqual(["new"]);
    }
  });

  it("continue if their other nodes are deleted or being deleted", () => {
    const closed = view(withRecord(claim("a"), record(1)), true, true);
    const going = claim("b");
    const leaves = { ...going, metadata: { ...going.metadata, deletionTimestamp: "x" } };
    for (const others of [[], [view(leaves)]]) {
      const nodes = [closed, ...others, replacement("r", true)];
      const { resume } = found(nodes);
      expect(resume.map((one) => names(one.nodes))).toEqual([["a"]]);
    }
  });

  it("without a node list and without replacements are rolled back, many of them in steps", () => {
    const plain = { ...record(0), nodes: [] };
    const all = Array.from({ length: 1_000 }, (_, index) => {
      const name = String(index).padStart(4, "0");
      // Every third node is untainted already.
      return index % 3 === 0 ? view(claim(name)) : view(withRecord(claim(name), plain), true, true);
    });
    const looking = findUnfinished(all, new Set(), NOW_MS);
    let turns = 0;
    let seen = looking.next();
    for (; seen.done !== true; seen = looking.next()) turns++;
    expect(seen.value.rolledBack.flatMap(({ nodes }) => nodes)).toHaveLength(666);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  it("are ignored while this process executes them", () => {
    const { reopen } = found(leaving(record(0)), ["a", "b"]);
    expect(reopen).toEqual([]);
  });
});

describe("the record of a command", () => {
  it("is read back as written, and removed without a trace", () => {
    const marked = withRecord(claim("a"), record(2));
    expect(recordOf(marked)).toEqual(record(2));
    expect(withoutRecord(marked)).toEqual(claim("a"));
  });

  it.each(["", "{", "[]", '{"id":1}', JSON.stringify({ ...record(1), reason: "Whim" })])(
    "is ignored if its annotation is invalid: %s",
    (text) => {
      expect(recordOf(claim("a", { "karpenter.sh/disruption-command": text }))).toBeUndefined();
    },
  );
});

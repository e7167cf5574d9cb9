import { describe, expect, it } from "vitest";
import type { Logger } from "../../../base/log.ts";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { AwsError } from "../api/call.ts";
import { ProvenLists, type SelectorQuery } from "./proven-lists.ts";

interface Thing {
  readonly id: string;
  readonly team: string;
}

const RED: readonly SelectorQuery[] = [{ Filters: [{ Name: "tag:team", Values: ["red"] }] }];
const NONE: readonly string[] = [];
const MINUTE = 60_000;

/** Lists over a small account. `hidden`: IDs that EC2 does not list; `mute`: IDs that it does not describe either. */
function world() {
  const clock = new VirtualClock();
  const things = new Map([
    ["a", "red"],
    ["b", "red"],
    ["c", "blue"],
  ]);
  const hidden = new Set<string>();
  const mute = new Set<string>();
  const asked: string[] = [];
  /** `list`, `byId`: EC2 throttles these calls. */
  const throttled = new Set<string>();
  const throttle = (call: string): void => {
    if (throttled.has(call)) throw new AwsError("RequestLimitExceeded", "too many calls", 503);
  };
  const said: string[] = [];
  const log: Logger = {
    ...SILENT,
    warn: (message, fields) => said.push(`${message} ${fields?.["id"]}`),
  };
  const of = (id: string): Thing => ({ id, team: things.get(id) ?? "" });
  const lists = new ProvenLists<Thing>({
    ...{ clock, log },
    refreshMs: MINUTE,
    kind: {
      plural: "things",
      idPrefix: "",
      staysUnanswered: true,
      idFilter: "thing-id",
      idOf: ({ id }) => id,
      filterable: ({ id, team }) => ({
        fields: { "thing-id": id },
        tags: [{ Key: "team", Value: team }],
      }),
      list: async () => {
        throttle("list");
        return [...things.keys()]
          .filter((id) => things.get(id) === "red" && !hidden.has(id))
          .map(of);
      },
      byId: async (ids) => {
        asked.push(ids.join());
        throttle("byId");
        const missing = ids.filter((id) => !things.has(id));
        if (missing.length > 0) throw new AwsError("InvalidSubnetID.NotFound", missing.join());
        return ids.filter((id) => !mute.has(id)).map(of);
      },
    },
  });
  const settle = async <V>(work: Promise<V>): Promise<V> => {
    const [value] = await Promise.all([work, clock.advance(1_000)]);
    return value;
  };
  const ids = async (known = NONE, questions = RED): Promise<string> =>
    (await settle(lists.list(questions, known))).map(({ id }) => id).join();
  const verdicts = async (...all: string[]): Promise<string> => {
    const proofs = await settle(lists.prove(RED, NONE, all));
    return all.map((id) => proofs.get(id)?.verdict).join();
  };
  return { clock, things, hidden, mute, asked, throttled, said, ids, verdicts, lists, settle };
}

describe("a list of what a selector matches", () => {
  it("makes no further call while nothing is missing", async () => {
    const { ids, asked, clock } = world();
    expect(await ids()).toBe("a,b");
    await clock.advance(MINUTE);
    expect(await ids()).toBe("a,b");
    expect(asked).toEqual([]);
  });

  it("keeps what a short list lacks and EC2 describes by ID, and asks once for each list", async () => {
    const { ids, asked, clock, hidden, said } = world();
    await ids();
    hidden.add("a");
    await clock.advance(MINUTE);
    expect(await ids()).toBe("a,b");
    expect(await ids()).toBe("a,b");
    expect(asked).toEqual(["a"]);
    expect(said).toEqual([
      "EC2's list of things lacks one that EC2 describes by ID and that the selector matches; it stays selected a",
    ]);
  });

  it("drops at once what does not match any more, and what EC2 says is gone", async () => {
    const { ids, clock, things } = world();
    await ids();
    things.set("a", "blue");
    things.delete("b");
    await clock.advance(MINUTE);
    expect(await ids()).toBe("");
  });

  it("keeps for an hour what EC2 neither lists nor describes", async () => {
    const { ids, clock, hidden, mute } = world();
    await ids();
    hidden.add("a");
    mute.add("a");
    for (let minutes = 0; minutes < 58; minutes++) {
      await clock.advance(MINUTE);
      expect(await ids()).toBe("a,b");
    }
    await clock.advance(5 * MINUTE);
    expect(await ids()).toBe("b");
  });

  it("asks for what was selected before this process began, unless the questions are about other IDs", async () => {
    const { ids, asked, hidden, mute } = world();
    hidden.add("a").add("b");
    mute.add("b");
    const known = ["a", "b", "c"];
    // EC2 answers nothing about "b", and this process never saw that it is selected.
    expect(await ids(known)).toBe("a");
    expect(asked).toEqual(["a,b,c"]);
    expect(await ids(known, [{ Filters: [{ Name: "thing-id", Values: ["x"] }] }])).toBe("");
    expect(asked).toHaveLength(1);
  });
});

describe("what is proven about an object and a selector", () => {
  it("is what EC2 answers by ID, and a contradiction is a doubt", async () => {
    const { verdicts, things, hidden, mute, asked } = world();
    hidden.add("b");
    things.set("d", "red");
    mute.add("d");
    expect(await verdicts("a", "b", "c", "d", "x")).toBe(
      "selected,selected,refused,doubted,unknown",
    );
    const calls = asked.length;
    expect(await verdicts("a", "b", "c", "d", "x")).toBe(
      "selected,selected,refused,doubted,unknown",
    );
    expect(asked).toHaveLength(calls);
  });

  it("is a doubt if EC2 lists an object that it describes as another's", async () => {
    const { verdicts, ids, things } = world();
    await ids();
    things.set("a", "blue");
    expect(await verdicts("a")).toBe("doubted");
  });

  it("is not lost while another object is proven at the same time", async () => {
    const { lists, settle, hidden } = world();
    hidden.add("a").add("b");
    const members = async (id: string): Promise<string> => {
      const proofs = await lists.prove(RED, NONE, [id]);
      const all = await lists.list(RED, NONE);
      return `${proofs.get(id)?.verdict}: ${all.map((one) => one.id).join()}`;
    };
    const [a, b] = await settle(Promise.all([members("a"), members("b")]));
    expect([a, b]).toEqual(["selected: a,b", "selected: a,b"]);
  });

  it("is no more than a refresh time old, also while lists are throttled", async () => {
    const { verdicts, clock, things, throttled } = world();
    expect(await verdicts("a", "c")).toBe("selected,refused");
    throttled.add("list");
    things.set("c", "red");
    await clock.advance(MINUTE);
    expect(await verdicts("a", "c")).toBe("selected,selected");
  });

  it("is not known while the questions by ID fail", async () => {
    const { verdicts, throttled, clock } = world();
    throttled.add("byId");
    const refused = expect(verdicts("c")).rejects.toThrow("too many calls");
    await refused;
    throttled.clear();
    await clock.advance(20_000);
    expect(await verdicts("c")).toBe("refused");
  });
});

describe("the log of what a list lacks", () => {
  it("says it again if the object was listed in between", async () => {
    const { ids, clock, hidden, said } = world();
    await ids();
    for (let times = 1; times <= 2; times++) {
      hidden.add("a");
      await clock.advance(MINUTE);
      await ids();
      expect(said).toHaveLength(times);
      hidden.delete("a");
      await clock.advance(MINUTE);
      await ids();
    }
  });
});

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../../../test/programs.ts";
import type { TraceEvent } from "../../sandbox/trace.ts";
import { storyPage } from "./story-page.ts";

const HOSTILE = `</script><script>document.title="taken"</script><img src="http://evil/x"> \u001b[2J \u202e`;
const START = Date.UTC(2026, 0, 1, 8);

function event(second: number, verb: string, more: Partial<TraceEvent> = {}): TraceEvent {
  const object = "nodeclaim a";
  return { atMs: START + second * 1_000, actor: "karpenter", verb, object, what: "", ...more };
}

const EVENTS: readonly TraceEvent[] = [
  event(0, "applied", { actor: "user", object: "nodepool default" }),
  event(1, "launched", { what: "m5.large spot", microUsdPerHour: 40_000 }),
  event(30, "registered", { what: "node-a" }),
  event(31, "initialized", { what: "node-a" }),
  event(60, "launched", { object: "nodeclaim b", what: HOSTILE, microUsdPerHour: 20_000 }),
  event(90, "deleting", { why: "Underutilized", microUsdPerHour: 40_000 }),
  event(120, "terminated"),
];
const FACTS = { name: HOSTILE, story: HOSTILE, ended: HOSTILE };

describe("the HTML page of a scenario", () => {
  const page = storyPage(FACTS, EVENTS);

  it("escapes text from objects, and loads nothing from the network", () => {
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toMatch(/<img|<link|@import|url\(|src="|href="/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
    expect(page).not.toMatch(/\u001b|\u202e/);
  });

  it("allows its own script and no other", () => {
    const [, script = ""] = /<script>(.*?)<\/script>/s.exec(page) ?? [];
    const hash = createHash("sha256").update(script).digest("base64");
    expect(page).toContain(
      `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'"`,
    );
  });

  it("draws the cost as a step chart, and names the peak", () => {
    expect(page).toContain("$0.0600/h</text>");
    expect(page).toContain('d="M0 159H8V64H500V16H1000V111"');
  });

  it("has the same bytes for the same scenario", () => {
    expect(storyPage(FACTS, EVENTS)).toBe(page);
  });

  describe.skipIf(lacks("page of a story", "chromium"))("in a browser", () => {
    const MOMENTS = [0, 1, 4, 5, 6];
    let doms: ReadonlyMap<number, string>;

    /** One browser shows the page at each moment, in frames of one page that collects the results. */
    beforeAll(() => {
      const folder = mkdtempSync(join(tmpdir(), "karpenter-page-"));
      const file = join(folder, "frames.html");
      writeFileSync(join(folder, "story.html"), page);
      writeFileSync(
        file,
        `${MOMENTS.map((moment) => `<iframe src="story.html#${moment}"></iframe>`).join("")}
        <script>onload = () => {
          const shown = [...document.querySelectorAll("iframe")].map((one) => one.contentDocument.documentElement.outerHTML);
          document.body.textContent = "shown:" + encodeURIComponent(JSON.stringify(shown)) + ":";
        };</script>`,
      );
      const profile = `--user-data-dir=${join(folder, "profile")}`;
      const flags = ["--headless", "--no-sandbox", "--disable-gpu", profile, "--dump-dom"];
      try {
        const dom = execFileSync(
          "chromium",
          [...flags, "--allow-file-access-from-files", `file://${file}`],
          { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
        );
        const [, text = ""] = /shown:(.*?):/.exec(dom) ?? [];
        const shown = JSON.parse(decodeURIComponent(text)) as string[];
        doms = new Map(MOMENTS.map((moment, at) => [moment, shown[at] ?? ""]));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }, 60_000);

    /** What the page shows at this moment: states of the nodes, cost and events. */
    function seenAt(moment: number) {
      const dom = doms.get(moment) ?? "";
      const nodes = [...dom.matchAll(/<div class="node"([^>]*)>.*?<em>(.*?)<\/em>/gs)]
        .filter(([, attributes = ""]) => !attributes.includes("hidden"))
        .map(([, , state]) => state);
      const rows = [...dom.matchAll(/<tr data-at="\d+"([^>]*)>/g)];
      return {
        nodes,
        rate: /<output id="rate"[^>]*>(.*?)</.exec(dom)?.[1],
        events: rows.filter(([, attributes = ""]) => !attributes.includes("hidden")).length,
        isTaken: dom.includes("<title>taken"),
      };
    }

    it.each([
      [0, { nodes: [], rate: "$0.0000/h", events: 0 }],
      [1, { nodes: ["coming up"], rate: "$0.0400/h", events: 1 }],
      [4, { nodes: ["ready", "coming up"], rate: "$0.0600/h", events: 4 }],
      [5, { nodes: ["leaving", "coming up"], rate: "$0.0600/h", events: 5 }],
      [6, { nodes: ["coming up"], rate: "$0.0200/h", events: 6 }],
    ])("shows the state at the moment %i", (moment, seen) => {
      expect(seenAt(moment)).toEqual({ ...seen, isTaken: false });
    });
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPod,
  snapshotPool,
} from "../../testing/snapshots.ts";
import { REPORT_FORMATS } from "../report/format-names.ts";
import { type ExplainFlags, runExplain } from "./run-explain.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-reports-"));
  writeFileSync(join(folder, "types.json"), SNAPSHOT_TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

const CLUSTER: readonly KubeObject[] = [
  snapshotPool(),
  snapshotPool({ name: "idle" }),
  ...snapshotNode("a"),
  ...snapshotNode("b"),
  snapshotPod("web-0", { node: "a" }),
];

async function ask(question: string, output: ExplainFlags["output"]): Promise<string> {
  const file = join(folder, "cluster.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: CLUSTER }));
  const said: string[] = [];
  await runExplain(
    question.split(" "),
    {
      filename: [file],
      instanceTypes: join(folder, "types.json"),
      namespace: "shop",
      at: SNAPSHOT_AT,
      output,
    },
    { out: (text) => said.push(text), err: () => undefined },
  );
  return said.join("");
}

describe("explain as a report", () => {
  it.each([
    ["node a", ["a"]],
    ["pod web-0", ["a"]],
    ["nodepool default", ["a", "b"]],
    ["nodepool", ["a", "b"]],
    ["nodepool idle", []],
  ])("of %s shows exactly the nodes that the answer is about: %j", async (question, nodes) => {
    const svg = await ask(question, "svg");
    const titles = [...svg.matchAll(/<g [^>]*><title>(\S+): /g)].map(([, name]) => name);
    expect(titles).toEqual(nodes);
    if (nodes.length === 0) expect(svg).toContain("The NodePool has no node.");
  });

  it.each(["node a", "pod web-0", "nodepool default"])(
    "of %s has every line of the text answer in Markdown and HTML",
    async (question) => {
      const lines = (await ask(question, "text")).trim().split("\n");
      const told = lines.map((line) => line.trim()).filter((line) => /^[\w ,]+$/.test(line));
      expect(told.length).toBeGreaterThan(2);
      for (const format of ["markdown", "html"] as const) {
        const report = await ask(question, format);
        for (const line of told) expect(report).toContain(line);
      }
    },
  );

  it("lists the NodePools", async () => {
    expect(await ask("nodepool", "html")).toContain("<li>idle: ready yes, nodes 0, ");
  });

  it.each(REPORT_FORMATS)("as %s has the same bytes each time", async (format) => {
    expect(await ask("node a", format)).toBe(await ask("node a", format));
  });
});

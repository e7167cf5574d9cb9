/**
 * Text in objects, written by others, cannot control a terminal. Escape sequences, line breaks and marks that
 * reverse text are shown as characters: in the trace, in Karpenter's log and in answers.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { EVENT, type Event } from "../src/apis/core/kinds.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { printable } from "../src/base/printable.ts";
import { runExplain } from "../src/cli/answers/run-explain.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPod,
  snapshotPool,
} from "../src/testing/snapshots.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const ESC = "\u001b";
const EVIL = `${ESC}]0;TITLE\u0007${ESC}[2J${ESC}[31mred\u202e\u009b7m\n12:00:00.000  ec2        terminated   instance i-FORGED`;

/** Whether escaping every line again would change nothing. */
function isSafe(text: string): boolean {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .every((line) => printable(line) === line && !line.startsWith("12:00:00.000"));
}

describe("hostile text in objects", () => {
  let world: TestWorld | undefined;
  afterEach(() => world?.close());

  it("creates no line in the trace or the log", async () => {
    world = await openWorld({ sells: isUsual });
    const { client } = world;
    await client.create(EVENT, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "x1", namespace: "default" },
      involvedObject: { kind: "Node", name: "p1" },
      reason: "Evil",
      type: "Warning",
      source: { component: "karpenter" },
      message: EVIL,
    } as Event);
    await world.apply(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: "evilnode", labels: { "karpenter.sh/nodepool": "default" } },
        spec: { providerID: EVIL },
      }),
    );
    await world.advance(60_000);
    const told = world.trace.filter((line) => line.includes("FORGED"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("warned");
    expect(world.trace.every(isSafe)).toBe(true);
    expect(world.log().length).toBeGreaterThan(0);
    // In the log's console format, tabs separate the columns.
    expect(
      world
        .log()
        .flatMap((line) => line.split("\t"))
        .every(isSafe),
    ).toBe(true);
  });
});

describe("hostile text in files", () => {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-terminal-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("is escaped in answers, and unchanged in JSON", async () => {
    const pod = snapshotPod("evil", { node: "a" }) as KubeObject & { readonly spec: object };
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: EVIL } }];
    const items = [
      snapshotPool(),
      ...snapshotNode("a"),
      { ...pod, spec: { ...pod.spec, volumes } },
    ];
    const types = join(folder, "types.json");
    const file = join(folder, "cluster.json");
    writeFileSync(types, SNAPSHOT_TYPES);
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const said: string[] = [];
    const say = (text: string) => said.push(text);
    const flags = { filename: [file], instanceTypes: types, namespace: "shop", at: SNAPSHOT_AT };
    for (const output of ["text", "json"] as const)
      await runExplain(["pod", "evil"], { ...flags, output }, { out: say, err: say });
    expect(said.filter((text) => !isSafe(text))).toEqual([]);
    expect(said[0]).toContain("volume claim \\u001b]0;TITLE\\u0007");
    expect(JSON.parse(said.at(-1) as string).ties).toEqual([`volume claim ${EVIL}`]);
  });

  it("is escaped in errors, as are the names of files and of commands", () => {
    const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
    const file = join(folder, `${ESC}[31m.json`);
    const pod = { ...snapshotPod("w"), metadata: { name: EVIL, namespace: "n" } };
    writeFileSync(file, JSON.stringify(pod));
    for (const args of [["plan", "-f", file], [`${ESC}[2J`], ["plan", "-f", `${file}-nowhere`]]) {
      const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
      expect([args, status]).toEqual([args, 1]);
      expect(stderr).toContain("\\u001b");
      expect(isSafe(stderr)).toBe(true);
    }
  });
});

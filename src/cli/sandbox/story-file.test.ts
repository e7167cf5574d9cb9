import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadManifests } from "./story-file.ts";

const folder = mkdtempSync(join(tmpdir(), "story-file-"));
afterAll(() => rmSync(folder, { recursive: true }));

function load(text: string) {
  const file = join(folder, "objects.yaml");
  writeFileSync(file, text);
  return loadManifests(file, "demo");
}

describe("manifests of a scenario", () => {
  it("may be Lists, and get the name of the cluster", () => {
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: ["a", "b"].map((name) => ({
        apiVersion: "v1",
        kind: "Namespace",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: written so in the tutorials
        metadata: { name, labels: { cluster: "${CLUSTER_NAME}" } },
      })),
    };
    const found = load(JSON.stringify(list));
    expect(found.map(({ kind, metadata }) => [kind, metadata.name, metadata.labels])).toEqual([
      ["Namespace", "a", { cluster: "demo" }],
      ["Namespace", "b", { cluster: "demo" }],
    ]);
  });

  it.each([
    ["apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\n", /metadata\.name: missing/],
    ["apiVersion: v1\nkind: Pod\nmetadata: {name: n}\n", /metadata\.name: wanted a string/],
    ["apiVersion: v1\nmetadata: {name: p}\n", /kind: missing/],
  ])("that contain %j are refused, and the error names the place", (text, message) => {
    expect(() => load(text)).toThrow(message);
  });
});

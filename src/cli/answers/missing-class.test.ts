import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runExplain } from "./run-explain.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-missing-class-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function pool(more: object = {}, status: object = {}): object {
  const nodeClassRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "web" };
  const spec = { template: { spec: { nodeClassRef, requirements: [] } }, ...more };
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name: "web" },
    spec,
    status,
  };
}

function nodeClass(name: string): object {
  const spec = {
    role: "r",
    amiSelectorTerms: [{ alias: "al2023@latest" }],
    subnetSelectorTerms: [{ id: "subnet-1" }],
    securityGroupSelectorTerms: [{ id: "sg-1" }],
  };
  return { apiVersion: "karpenter.k8s.aws/v1", kind: "EC2NodeClass", metadata: { name }, spec };
}

async function asked(question: string, objects: readonly object[], output: "text" | "json") {
  const file = join(folder, "objects.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const said: string[] = [];
  await runExplain(
    question.split(" "),
    { filename: [file], namespace: "default", output },
    { out: (text) => said.push(text), err: () => undefined },
  );
  return said.join("");
}

describe("explain nodepool without its EC2NodeClass", () => {
  it.each([
    ["a pool", pool()],
    ["a static pool", pool({ replicas: 2 })],
  ])("leads with the missing class and its remedy: %s", async (_, one) => {
    const stop =
      /^NodePool web can launch no node: its EC2NodeClass web is not in the input, .*add the EC2NodeClass/;
    expect((await asked("nodepool web", [one], "text")).replaceAll(/\s+/g, " ")).toMatch(stop);
    const answer = JSON.parse(await asked("nodepool web", [one], "json"));
    expect(answer).toMatchObject({ ready: false, launchesNothing: expect.stringContaining("web") });
    const list = await asked("nodepool", [one, nodeClass("wbe")], "text");
    expect(list).toMatch(/\bweb +no +0/);
    expect(list.replaceAll(/\s+/g, " ")).toMatch(/web can launch no node: .*did you mean wbe\?/);
  });

  it("does not blame a class that is there, or that the pool's status calls ready", async () => {
    const isReady = { conditions: [{ type: "Ready", status: "True" }] };
    for (const objects of [[pool(), nodeClass("web")], [pool({}, isReady)]])
      expect(JSON.parse(await asked("nodepool web", objects, "json"))).not.toHaveProperty(
        "launchesNothing",
      );
  });
});

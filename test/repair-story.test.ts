/**
 * Node repair in the sandbox from start to end: the story beside the fixtures, played with the gates on, shows one
 * reboot in place and one replacement.
 */
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { play } from "../src/cli/sandbox/play-scenario.ts";
import { readScenario } from "../src/cli/sandbox/story-file.ts";
import { formatTrace } from "../src/sandbox/trace.ts";
import { isUsual } from "./world.ts";

const FOLDER = fileURLToPath(new URL("./fixtures/stories/", import.meta.url));
const GATES = ["feature-gates=NodeRepair=true", "aws-feature-gates=RebootForRepair=true"];

async function tell(setting: readonly string[]) {
  const lines: string[] = [];
  const options = {
    seed: 1,
    provider: "aws" as const,
    clusterName: "karpenter-demo",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "error" as const,
    sells: isUsual,
    setting,
  };
  const outcome = await play(readScenario(`${FOLDER}repair.yaml`), FOLDER, options, (event) => {
    lines.push(formatTrace(event));
  });
  return { outcome, lines };
}

it("node repair reboots one instance and replaces another, and does nothing else", async () => {
  const { outcome, lines } = await tell(GATES);
  expect(outcome.broken).toEqual([]);
  const of = (words: RegExp) => lines.filter((line) => words.test(line)).length;
  expect(of(/\brebooted\b/)).toBe(1);
  expect(of(/ec2 +terminated/)).toBe(1);
});

it("node repair replaces the first instance if the gate for reboots is off", async () => {
  const { outcome, lines } = await tell(GATES.slice(0, 1));
  expect(outcome.broken.join()).toContain("Rebooting");
  expect(lines.filter((line) => /\brebooted\b/.test(line))).toEqual([]);
});

it("node repair waits for pods that stop slowly before it reboots, and launches no node for them", async () => {
  const story = readScenario(`${FOLDER}slow-reboot.yaml`);
  const options = {
    seed: 1,
    provider: "aws" as const,
    clusterName: "karpenter-demo",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "error" as const,
    sells: isUsual,
    setting: GATES,
  };
  const launched: string[] = [];
  const outcome = await play(story, FOLDER, options, (event) => {
    const line = formatTrace(event);
    if (/ec2 +launched/.test(line)) launched.push(line);
  });
  expect(outcome.broken).toEqual([]);
  expect(launched).toHaveLength(3);
});

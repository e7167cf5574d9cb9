/**
 * Plays the stories in examples/ on virtual time. Each keeps its promises and prints the transcript beside it.
 * Some are played twice and must print the same bytes. UPDATE_TRANSCRIPTS=1 writes the transcripts again.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { play } from "../src/cli/sandbox/play-scenario.ts";
import { readScenario } from "../src/cli/sandbox/story-file.ts";
import { parseScenario, type Scenario } from "../src/sandbox/scenario/scenario.ts";
import { formatTrace } from "../src/sandbox/trace.ts";

const FOLDER = fileURLToPath(new URL("../examples/", import.meta.url));
const STORIES = readdirSync(FOLDER)
  .filter(
    (file) => file.endsWith(".yaml") && readFileSync(FOLDER + file, "utf8").startsWith("name:"),
  )
  .sort();
/** Stories that are played a second time in the same process, and must print the same bytes. */
const TWICE = ["first-light.yaml", "v1alpha5-story.yaml", "out-of-capacity.yaml"];

function providerOf(file: string): "aws" | "kwok" {
  return file.startsWith("kwok") ? "kwok" : "aws";
}

async function tell(file: string, setting: readonly string[] = [], provider = providerOf(file)) {
  return tellStory(readScenario(FOLDER + file), setting, provider);
}

async function tellStory(
  scenario: Scenario,
  setting: readonly string[] = [],
  provider: "aws" | "kwok" = "aws",
) {
  const lines: string[] = [];
  const options = {
    seed: 1,
    provider,
    clusterName: "karpenter-demo",
    region: "us-west-2",
    kubernetesVersion: "1.34",
    logLevel: "error" as const,
    setting,
  };
  const outcome = await play(scenario, FOLDER, options, (event) => {
    lines.push(formatTrace(event));
  });
  return { outcome, text: `${lines.join("\n")}\n` };
}

describe("the example stories", () => {
  it.each(STORIES)("%s keeps its promises and prints its transcript", async (file) => {
    const { outcome, text } = await tell(file);
    expect(outcome.broken).toEqual([]);
    expect(outcome.kept).toBeGreaterThan(0);
    const transcript = FOLDER + file.replace(/\.yaml$/, ".txt");
    if (process.env["UPDATE_TRANSCRIPTS"] === "1") writeFileSync(transcript, text);
    expect(existsSync(transcript), `${transcript}: run with UPDATE_TRANSCRIPTS=1`).toBe(true);
    expect(text).toBe(readFileSync(transcript, "utf8"));
    if (TWICE.includes(file)) expect((await tell(file)).text).toBe(text);
  });

  it("kwok-families.yaml: without repack no node is removed, and the cluster costs as much as before", async () => {
    const { outcome, text } = await tell("kwok-families.yaml", ["consolidation-repack=false"]);
    expect(outcome.broken.join()).toContain("karpenter.kwok.sh/instance-family=c");
    expect(text).not.toContain("cordoned");
    // No hint about the provider: it is the right one, and the promise is broken for another reason.
    expect(outcome.hints).toEqual([]);
  });

  it("kwok-story.yaml: with the other provider its promises fail, and a hint names the flag", async () => {
    const { outcome } = await tell("kwok-story.yaml", [], "aws");
    expect(outcome.broken).not.toEqual([]);
    expect(outcome.hints).toEqual([
      "its nodes are of the provider kwok, it was played with aws: try --provider kwok",
    ]);
  });

  it.each([
    [
      { scale: { name: "nobody", replicas: 3 } },
      'step 1 (scale): refused: deployments.apps "nobody" not found',
    ],
    [
      { apply: [{ apiVersion: "example.com/v1", kind: "Toy", metadata: { name: "bear" } }] },
      'step 1 (apply): refused: no matches for kind "Toy" in version "example.com/v1"',
    ],
    [
      { apply: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "bare" }, spec: {} }] },
      /^step 1 \(apply\): refused: Pod "bare" is invalid: spec\.containers: Required value/,
    ],
  ])(
    "a step that the API server refuses ends the story with its error: %o",
    async (step, sentence) => {
      const scenario = parseScenario(
        { name: "refused", story: "A step is refused.", steps: [step] },
        "story.yaml",
      );
      const { broken } = (await tellStory(scenario)).outcome;
      expect(broken).toEqual([
        typeof sentence === "string" ? sentence : expect.stringMatching(sentence),
      ]);
    },
  );
});

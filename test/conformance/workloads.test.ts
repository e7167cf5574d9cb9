/**
 * The sandbox's workload controllers do to pods what a real kube-controller-manager did, step by step in the same
 * stories. Known differences are listed in docs/reference/differences.md and must still differ.
 */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION } from "../../src/apis/core/custom-resource-definition.ts";
import { SILENT } from "../../src/base/log.ts";
import { Random } from "../../src/base/random.ts";
import { VirtualClock } from "../../src/base/virtual-clock.ts";
import { createKubeClient } from "../../src/kube/client/kube-client.ts";
import { createManager } from "../../src/kube/manager/manager.ts";
import { LiveMirrors } from "../../src/kube/mirror/mirrors.ts";
import { bareApiServer } from "../../src/sandbox/testing/bare-api-server.ts";
import { workloadControllers } from "../../src/sandbox/workloads/workloads.ts";
import { RECORDING, type Told } from "./workloads/recording.ts";
import { STORIES } from "./workloads/stories.ts";
import { METRICS_KIND, type Stage, tell } from "./workloads/story.ts";

const { stories: recorded } = JSON.parse(readFileSync(RECORDING, "utf8")) as Told;

/** Known differences, from the table of docs/reference/differences.md. */
const known = new Set(
  [
    ...readFileSync(
      new URL("../../docs/reference/differences.md", import.meta.url),
      "utf8",
    ).matchAll(/^\| `story (.*?)` \|/gm),
  ].map(([, step]) => step),
);

/** An API server with the workload controllers and nothing else. */
async function openStage(): Promise<Stage & { close(): Promise<void> }> {
  const clock = new VirtualClock();
  const random = new Random("stories");
  const server = bareApiServer({
    clock,
    random: random.fork("apiserver"),
  });
  const transport = server.transport({ name: "admin", groups: ["system:masters"] });
  const client = createKubeClient(transport);
  await client.create(CUSTOM_RESOURCE_DEFINITION, METRICS_KIND);
  const mirrors = new LiveMirrors({ client, clock, random: random.fork("mirrors"), log: SILENT });
  const deps = { clock, random: random.fork("parts"), kube: mirrors.client, mirrors, log: SILENT };
  const manager = createManager({ mirrors, clock, random: random.fork("manager"), log: SILENT });
  for (const controller of workloadControllers(deps)) manager.add(controller);
  await manager.start();
  return {
    transport,
    settle: (ms) => clock.advance(ms),
    pause: () => clock.advance(100),
    close: async () => {
      await manager.stop();
      mirrors.close();
      server.close();
    },
  };
}

describe("simulated workloads, compared with kube-controller-manager", () => {
  // One server for all stories, as in the recording: each story has its own namespace.
  let stage: Stage & { close(): Promise<void> };
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());

  it.each(STORIES.map((story) => [story.name, story] as const))("%s", async (name, story) => {
    const wanted = recorded[name];
    if (wanted === undefined)
      throw new Error(`${name} is not recorded: npm run cluster:record-workloads`);
    const states = await tell(stage, story);
    states.forEach((lines, at) => {
      const step = `${name}, step ${at + 1}: ${JSON.stringify(story.steps[at])}`;
      const real = wanted[at] ?? [];
      // The real event recorder combines many events of one kind, and some are lost. Then events are not compared.
      const combined = real.some((line) => line.includes("(combined from similar events)"));
      const heard = (all: readonly string[]) =>
        combined ? all.filter((line) => !line.startsWith("event ")) : all;
      const told = expect.soft(heard(lines), step);
      if (known.has(`${name}, step ${at + 1}`)) told.not.toEqual(heard(real));
      else told.toEqual(heard(real));
    });
  });
});

/**
 * No machine ends on a doubtful view. Each test takes away or falsifies something that an irreversible act rests
 * on, while pods run, and looks from outside: every instance and every pod is still there. The table of acts is
 * docs/explanation/safety.md.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION } from "../src/apis/core/custom-resource-definition.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { KubeObject } from "../src/apis/meta.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const MINUTE = 60_000;
const EXAMPLES = fileURLToPath(new URL("../examples/", import.meta.url));
const POOL = readFileSync(`${EXAMPLES}v1/nodepool.yaml`, "utf8");
/** For nodes of ours only: the managed node group has room too. */
const INFLATE = readFileSync(`${EXAMPLES}inflate.yaml`, "utf8").replace(
  "      containers:",
  "      nodeSelector: { karpenter.sh/nodepool: default }\n      containers:",
);

interface Definition extends KubeObject {
  readonly spec: { readonly versions: readonly { readonly name: string; served: boolean }[] };
}

let world: TestWorld;
let karpenter: Replica;

beforeEach(async () => {
  world = await openWorld({ sells: isUsual });
  await world.box.operator.stop();
  await world.apply(POOL);
  await world.apply(INFLATE);
  karpenter = startReplica(world, "karpenter");
  await world.until("it leads", () => karpenter.operator.ready);
  await world.scale("inflate", 6);
  await world.until("6 pods run", async () => (await running()).length === 6, 10 * MINUTE);
});
afterEach(async () => {
  karpenter.kill();
  await world.close();
});

/** UIDs of the pods that run. */
async function running(): Promise<readonly string[]> {
  const pods = await world.list<Pod>("Pod", "v1", "app=inflate");
  return pods
    .filter(({ status }) => status?.phase === "Running")
    .map(({ metadata }) => metadata.uid ?? "")
    .sort();
}

function instances(): readonly string[] {
  return [...world.box.sandbox.aws.state.instances.values()]
    .filter(({ fleetId }) => fleetId !== undefined)
    .filter(({ state }) => state === "running" || state === "pending")
    .map(({ id }) => id)
    .sort();
}

/** What must not change while `fault` lasts and in the hour after it. */
async function expectNothingEnds(fault: () => Promise<void>, mend: () => Promise<void>) {
  const before = { instances: instances(), pods: await running() };
  expect(before.instances.length).toBeGreaterThan(0);
  await fault();
  expect({ instances: instances(), pods: await running() }).toEqual(before);
  await mend();
  await world.advance(60 * MINUTE);
  expect({ instances: instances(), pods: await running() }).toEqual(before);
}

async function serve(definition: string, served: boolean): Promise<void> {
  const crd = await world.client.get(CUSTOM_RESOURCE_DEFINITION, { name: definition });
  const { spec } = crd as Definition;
  const versions = spec.versions.map((one) => (one.name === "v1" ? { ...one, served } : one));
  await world.client.update(CUSTOM_RESOURCE_DEFINITION, {
    ...crd,
    spec: { ...spec, versions },
  } as Definition);
}

describe("a kind that is not served for a while", () => {
  it.each([
    "nodeclaims.karpenter.sh",
    "nodepools.karpenter.sh",
    "ec2nodeclasses.karpenter.k8s.aws",
  ])("%s: ends nothing mid-run", async (definition) => {
    await expectNothingEnds(
      async () => {
        await serve(definition, false);
        await world.advance(30 * MINUTE);
      },
      () => serve(definition, true),
    );
  });

  it("ends nothing when the controller starts meanwhile, and says what it waits for", async () => {
    await expectNothingEnds(
      async () => {
        await serve("nodeclaims.karpenter.sh", false);
        karpenter.kill();
        await world.advance(MINUTE);
        karpenter = startReplica(world, "another");
        await world.advance(30 * MINUTE);
        expect(karpenter.operator.ready).toBe(false);
        expect(karpenter.log.join("\n")).toContain("kind is not served, waiting for it");
      },
      () => serve("nodeclaims.karpenter.sh", true),
    );
  });
});

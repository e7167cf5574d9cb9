/**
 * A machine's clock may be set back while the controller runs. No AWS part then waits until the old time is reached
 * again.
 */
import { describe, expect, it } from "vitest";
import { SILENT } from "../../base/log.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import type { Ec2Api } from "./api/ec2.ts";
import type { CreateLaunchTemplateInput, LaunchTemplate } from "./api/launches.ts";
import { RequestBatcher } from "./batch/batcher.ts";
import { Pace } from "./batch/pace.ts";
import { TtlCache } from "./cache/ttl-cache.ts";
import { observedCalls } from "./call-metrics.ts";
import { LearnedMemory } from "./instancetype/learned-memory.ts";
import { SeenTypes } from "./instancetype/seen-types.ts";
import { LaunchTemplates } from "./launchtemplate/launch-templates.ts";
import { namedCalls } from "./named-calls.ts";
import { UnavailableOfferings } from "./offering/unavailable.ts";
import { PlacementGroups } from "./placementgroup/placement-groups.ts";
import { observeStack } from "./sdk-observer.ts";
import { Subnets } from "./subnet/subnets.ts";
import { TEMPLATE_CLUSTER_TAG } from "./tags/tags.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AWAY = new AwsError("NetworkingError", "away", 0);

describe("after the machine's clock is set back by an hour", () => {
  it("a call that AWS throttled is repeated after its usual pause, and fails after a minute", async () => {
    const clock = new VirtualClock();
    const pace = new Pace(clock);
    const askedMs: number[] = [];
    const startMs = clock.elapsedMs();
    const call = async (): Promise<never> => {
      askedMs.push(clock.elapsedMs() - startMs);
      throw new AwsError("RequestLimitExceeded", "slow down", 503);
    };
    let refused = false;
    const first = pace.run(call).catch(() => {
      refused = true;
    });
    await clock.advance(500);
    clock.setBack(HOUR_MS);
    const second = pace.run(async () => askedMs.push(clock.elapsedMs() - startMs));
    await clock.advance(1_000);
    expect(askedMs).toEqual([0, 1_000, 1_000]);
    await clock.advance(120_000);
    expect(refused).toBe(true);
    await Promise.all([first, second]);
  });

  it("a batch of requests is still sent after its maximum time", async () => {
    const clock = new VirtualClock();
    const asked: string[][] = [];
    const opened: number[] = [];
    const batcher = new RequestBatcher<string, string>({
      clock,
      onBatch: (openMs) => opened.push(openMs),
      idleMs: 100,
      maxMs: 250,
      maxItems: 10,
      keyOf: () => "",
      execute: async (inputs) => {
        asked.push([...inputs]);
        return inputs;
      },
    });
    for (let i = 0; i < 5; i++) {
      void batcher.ask(`a${i}`);
      if (i === 1) clock.setBack(HOUR_MS);
      await clock.advance(60);
    }
    expect(asked[0]).toEqual(["a0", "a1", "a2", "a3", "a4"]);
    expect(opened[0]).toBe(250);
  });

  it("a cached answer of AWS, and one used beyond its time, expire as before", async () => {
    const clock = new VirtualClock();
    const cache = new TtlCache<number>(clock, 1_000);
    let [asked, isAway] = [0, false];
    const load = async (): Promise<number> => {
      asked++;
      if (isAway) throw AWAY;
      return asked;
    };
    expect(await cache.get("a", load)).toBe(1);
    clock.setBack(HOUR_MS);
    await clock.advance(1_000);
    expect(await cache.get("a", load)).toBe(2);
    isAway = true;
    await clock.advance(1_000);
    expect(await cache.get("a", load)).toBe(2);
    clock.setBack(HOUR_MS);
    await clock.advance(1_000);
    expect(await cache.get("a", load)).toBe(2);
    expect(asked).toBe(4);
    await clock.advance(HOUR_MS);
    await expect(cache.get("a", load)).rejects.toThrow("away");
  });

  it("an offering without capacity is used again after three minutes", async () => {
    const clock = new VirtualClock();
    const offerings = new UnavailableOfferings(clock, SILENT);
    const m5 = { capacityType: "spot", instanceType: "m5.large", zone: "a" } as const;
    offerings.mark("UnfulfillableCapacity", m5);
    clock.setBack(HOUR_MS);
    await clock.advance(180_000);
    expect(offerings.has(m5)).toBe(false);
  });

  it("a subnet without free addresses is used again after its usual time", async () => {
    const clock = new VirtualClock();
    const subnets = new Subnets({ ec2: {} as Ec2Api, clock, log: SILENT, refreshMs: 60_000 });
    subnets.markExhausted("subnet-1");
    clock.setBack(HOUR_MS);
    expect(subnets.isExhausted("subnet-1")).toBe(true);
    await clock.advance(180_000);
    expect(subnets.isExhausted("subnet-1")).toBe(false);
  });

  it("an unused launch template is deleted after five minutes", async () => {
    const clock = new VirtualClock();
    const deleted: string[] = [];
    const made: LaunchTemplate[] = [];
    const ec2 = {
      describeLaunchTemplates: async () => ({ LaunchTemplates: [...made] }),
      createLaunchTemplate: async ({ LaunchTemplateName }: CreateLaunchTemplateInput) => {
        const Tags = [{ Key: TEMPLATE_CLUSTER_TAG, Value: "c" }];
        made.push({ LaunchTemplateName, LaunchTemplateId: "lt-1", Tags } as LaunchTemplate);
        return { LaunchTemplate: { LaunchTemplateId: "lt-1" } };
      },
      deleteLaunchTemplate: async (input: { LaunchTemplateName: string }) => {
        deleted.push(input.LaunchTemplateName);
      },
    } as unknown as Ec2Api;
    const templates = new LaunchTemplates({
      clusterUid: () => undefined,
      ec2,
      clock,
      log: SILENT,
      clusterName: "c",
    });
    await templates.ensure({
      LaunchTemplateName: "karpenter.k8s.aws/1",
    } as CreateLaunchTemplateInput);
    clock.setBack(HOUR_MS);
    await clock.advance(299_000);
    await templates.sweep();
    expect(deleted).toEqual([]);
    await clock.advance(1_000);
    await templates.sweep();
    expect(deleted).toEqual(["karpenter.k8s.aws/1"]);
  });

  it("the last answer about a placement group is used for a day", async () => {
    const clock = new VirtualClock();
    let isAway = false;
    const ec2 = {
      describePlacementGroups: async () => {
        if (isAway) throw AWAY;
        return { PlacementGroups: [] };
      },
    } as unknown as Ec2Api;
    const groups = new PlacementGroups(ec2, clock);
    const nodeClass = { placementGroup: { name: "one" } };
    await groups.find(nodeClass);
    isAway = true;
    clock.setBack(2 * DAY_MS);
    await clock.advance(DAY_MS);
    expect(await groups.find(nodeClass)).toBeUndefined();
    await clock.advance(60_000);
    await expect(groups.find(nodeClass)).rejects.toThrow("away");
  });

  it("instance types in metrics, and learned memory, expire as before", async () => {
    const clock = new VirtualClock();
    const seen = new SeenTypes(clock);
    seen.note("default", [{ name: "m5.large", capacity: {}, offerings: [] } as never]);
    const memory = new LearnedMemory(clock);
    memory.learn("m5.large", "ami-1", 90, 100);
    const { version } = memory;
    clock.setBack(HOUR_MS);
    await clock.advance(300_000);
    expect([...seen.cores()]).toHaveLength(1);
    await clock.advance(1);
    expect([...seen.cores()]).toHaveLength(0);
    await clock.advance(60 * DAY_MS - 300_001);
    expect(memory.version).toBe(version + 1);
  });

  it("a warning that AWS does not answer is repeated after a minute, and measured durations stay right", async () => {
    const clock = new VirtualClock();
    const warned: string[] = [];
    const log = { ...SILENT, warn: (message: string) => void warned.push(message) };
    const lastedMs: number[] = [];
    const note = ({ durationMs }: { readonly durationMs: number }) =>
      void lastedMs.push(durationMs);
    const observer = { attempt: note, request: note };
    const slowly = async (): Promise<never> => {
      await clock.sleep(2_000);
      throw AWAY;
    };
    const api = { ec2: { describeSubnets: slowly } } as unknown as AwsApi;
    const { ec2 } = observedCalls(namedCalls(api, { clock, log }), clock, observer);
    const ask = async (): Promise<void> => {
      const asked = ec2.describeSubnets({ Filters: [] }).catch(() => undefined);
      await clock.advance(1_000);
      clock.setBack(HOUR_MS);
      await clock.advance(1_000);
      await asked;
    };
    await ask();
    await clock.advance(57_000);
    await ask();
    expect(warned).toHaveLength(1);
    await ask();
    expect(warned).toHaveLength(2);
    expect(new Set(lastedMs)).toEqual(new Set([2_000]));
  });

  it("measured durations of SDK calls stay right", async () => {
    const clock = new VirtualClock();
    const lastedMs: number[] = [];
    const note = ({ durationMs }: { readonly durationMs: number }) =>
      void lastedMs.push(durationMs);
    type Layer = (next: unknown, context: object) => (args: object) => Promise<unknown>;
    const layers: Layer[] = [];
    const add = (layer: Layer): void => void layers.push(layer);
    const observed = { clock, observer: { attempt: note, request: note } };
    observeStack({ add, addRelativeTo: add }, "EC2", observed);
    const next = async (): Promise<object> => {
      await clock.sleep(1_000);
      clock.setBack(HOUR_MS);
      return {};
    };
    for (const layer of layers) {
      const called = layer(next, { commandName: "DescribeSubnetsCommand" })({ input: {} });
      await clock.advance(1_000);
      await called;
    }
    expect(lastedMs).toEqual([1_000, 1_000]);
  });
});

/**
 * Each alert fires in the story that provokes it, and no other alert does. In a calm story none fires. Stories run
 * on virtual time, and Prometheus' own engine evaluates the rules on what was scraped.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { ALERTS } from "../../scripts/monitoring/alerts.ts";
import { HUGE_POD } from "../../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "../world.ts";
import { prometheusPrograms } from "./programs.ts";
import { alertFaults, type Played, record, SCRAPE_MS, type StoryRecording } from "./record.ts";

const RULES = fileURLToPath(new URL("../../deploy/grafana/alerts.yaml", import.meta.url));
const EXAMPLES = new URL("../../examples/", import.meta.url);
const POOL = readFileSync(new URL("v1/nodepool.yaml", EXAMPLES), "utf8");
const INFLATE = readFileSync(new URL("inflate.yaml", EXAMPLES), "utf8").replace(
  "    spec:\n",
  "    spec:\n      nodeSelector: { karpenter.sh/capacity-type: spot }\n",
);
const NAMES = new Set(
  ALERTS.flatMap(({ expr }) => expr.match(/\b[a-z]+_[a-z_]+\b/g) ?? []).filter((name) =>
    /^(karpenter|operator|controller)_/.test(name),
  ),
);
const MINUTE_MS = 60_000;
const JUDGE = { promtool: prometheusPrograms()?.promtool ?? "", rules: RULES };

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

interface Story {
  /** Names of alerts, without the prefix `Karpenter`. */
  readonly fires: readonly string[];
  readonly play: (world: TestWorld, time: StoryRecording) => Promise<void>;
}

async function ready(one: TestWorld, replicas = 2): Promise<void> {
  await one.apply(POOL);
  await one.apply(INFLATE);
  await one.scale("inflate", replicas);
}

const BUDGET = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: inflate, namespace: default }
spec: { maxUnavailable: 0, selector: { matchLabels: { app: inflate } } }
`;

const STORIES: Readonly<Record<string, Story>> = {
  "a calm day: load comes, grows and goes": {
    fires: [],
    play: async (one, time) => {
      await ready(one);
      await time.play(30 * MINUTE_MS);
      await one.scale("inflate", 5);
      await time.play(40 * MINUTE_MS);
      await one.scale("inflate", 3);
      await time.play(50 * MINUTE_MS);
    },
  },
  "nobody answers the scrape any more": {
    fires: ["Down"],
    play: async (one, time) => {
      await ready(one);
      await time.play(5 * MINUTE_MS);
      await time.playUnseen(20 * MINUTE_MS);
    },
  },
  "a pod that fits nowhere": {
    fires: ["PodWaitsLong"],
    play: async (one, time) => {
      await one.apply(POOL);
      await one.apply(HUGE_POD);
      await time.play(20 * MINUTE_MS);
    },
  },
  "a pool at its limit, with pods that wait": {
    fires: ["PodWaitsLong", "PoolAtLimit"],
    play: async (one, time) => {
      await one.apply(POOL.replace(/cpu: .*/, "cpu: 4"));
      await one.apply(INFLATE);
      await one.scale("inflate", 20);
      await time.play(25 * MINUTE_MS);
    },
  },
  "a node class that is not there": {
    fires: ["PoolNotReady"],
    play: async (one, time) => {
      await one.apply(POOL.split(/^---$/m).filter((text) => text.includes("NodePool"))[0] ?? "");
      await time.play(20 * MINUTE_MS);
    },
  },
  "instances that never join": {
    fires: ["NodeNeverJoins", "PodWaitsLong"],
    play: async (one, time) => {
      one.box.sandbox.aws.faults.neverJoin({});
      await ready(one);
      await time.play(20 * MINUTE_MS);
    },
  },
  "a budget that lets no pod go": {
    fires: ["NodeStuckLeaving"],
    play: async (one, time) => {
      await ready(one);
      await one.apply(BUDGET);
      await time.play(5 * MINUTE_MS);
      const claims = await one.list("NodeClaim", "karpenter.sh/v1");
      await one.remove("NodeClaim", claims[0]?.metadata.name ?? "", "karpenter.sh/v1");
      await time.play(45 * MINUTE_MS);
    },
  },
  "a cloud without capacity": {
    fires: ["NoCapacity", "PodWaitsLong"],
    play: async (one, time) => {
      one.box.sandbox.aws.faults.limitCapacity({});
      await ready(one);
      await time.play(30 * MINUTE_MS);
    },
  },
};

async function played({ play }: Story): Promise<Played> {
  world = await openWorld({ sells: isUsual });
  const time = record(world, NAMES);
  await play(world, time);
  return { series: time.series, scrapes: time.scrapes() };
}

for (const [name, story] of Object.entries(STORIES))
  it(`${name}: ${story.fires.join(", ") || "no alert"}`, async () => {
    expect(alertFaults(JUDGE, await played(story), story.fires)).toBe("");
  });

/** Number of scrapes in a little more than a day. */
const DAY = (24 * 60 * MINUTE_MS) / SCRAPE_MS + 10;

/** Alerts that no story provokes, tested on made-up series: one above the threshold, one below. */
const BY_HAND: Readonly<Record<string, (isAbove: boolean) => readonly [string, number[]][]>> = {
  StateUnsynced: (isAbove) => [
    ["karpenter_cluster_state_unsynced_time_seconds", rising(30, isAbove ? 40 : 10)],
  ],
  PassHangs: (isAbove) => [
    [
      'karpenter_scheduler_unfinished_work_seconds{controller="provisioner"}',
      rising(30, isAbove ? 20 : 4),
    ],
  ],
  ReconcilePanics: (isAbove) => [
    [
      'controller_runtime_reconcile_panics_total{controller="disruption"}',
      isAbove ? rising(0.1, 40) : level(0),
    ],
  ],
  InterruptionLag: (isAbove) =>
    ["30", "60", "120", "+Inf"].map((le) => [
      `karpenter_interruption_message_queue_duration_seconds_bucket{le="${le}"}`,
      isAbove && Number(le) < 120 ? level(0) : rising(1, 80),
    ]),
  CloudErrors: (isAbove) => [
    [
      'karpenter_cloudprovider_errors_total{method="Create",error="RequestLimitExceeded"}',
      rising(isAbove ? 3 : 1, 80),
    ],
  ],
  CostJump: (isAbove) => [
    [
      'karpenter_nodepools_cost_total{nodepool="a"}',
      [...level(10, DAY), ...level(isAbove ? 16 : 14, 100)],
    ],
  ],
  EndsStopped: (isAbove) => [["karpenter_involuntary_ends_stopped", level(isAbove ? 1 : 0)]],
  Churn: (isAbove) => [
    [
      'karpenter_nodeclaims_created_total{nodepool="a",reason="provisioned"}',
      rising(isAbove ? 1 : 0.1, 240),
    ],
    ['karpenter_nodepools_usage{nodepool="a",resource_type="nodes"}', level(20, 240)],
  ],
};

function rising(step: number, scrapes: number): number[] {
  return Array.from({ length: scrapes }, (_, index) => index * step);
}

function level(value: number, scrapes = 80): number[] {
  return Array.from({ length: scrapes }, () => value);
}

for (const [name, series] of Object.entries(BY_HAND))
  it(`${name} fires on synthetic series above its threshold, and not on those below`, () => {
    for (const isAbove of [true, false]) {
      const made = new Map<string, readonly number[]>([
        ["karpenter_build_info", level(1, DAY + 100)],
        ...series(isAbove),
      ]);
      const scrapes = Math.max(...[...series(isAbove)].map(([, values]) => values.length));
      expect(alertFaults(JUDGE, { series: made, scrapes }, isAbove ? [name] : [])).toBe("");
    }
  });

it("every alert has a test", () => {
  const tried = [...Object.values(STORIES).flatMap(({ fires }) => fires), ...Object.keys(BY_HAND)];
  expect(ALERTS.map(({ name }) => name).filter((name) => !tried.includes(name))).toEqual([]);
});

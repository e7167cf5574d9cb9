import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import type { Kind } from "../../apis/meta.ts";
import type { MetricSpec } from "../../base/metrics.ts";
import { controllerMetrics } from "../../controllers/all-metrics.ts";
import { KUBE_METRICS } from "../../kube/metrics.ts";
import { AWS_METRICS } from "../../providers/aws/metrics.ts";
import { BUILD_INFO, createMetrics, fullName } from "./metrics.ts";

/** The metrics that a running Karpenter v1.14.1 showed, by name. */
const OBSERVED = new Map<string, Observed>(
  [...fixture("upstream-metrics.json")].map(([name, one]) => [`karpenter_${name}`, one]),
);
/** Names of metrics in upstream's reference pages: core's and the AWS provider's, with the prefix. */
const DOCUMENTED = fixture("upstream-metrics-documented.json");

function fixture(file: string): ReadonlyMap<string, Observed> {
  const text = readFileSync(new URL(`../../../test/fixtures/${file}`, import.meta.url), "utf8");
  return new Map(Object.entries(JSON.parse(text)));
}

/** Node gauges have the well-known labels of their provider. These are the labels of the kwok provider. */
const KWOK_LABELS = ["instance_cpu", "instance_family", "instance_memory", "instance_size"];

interface Observed {
  readonly type: string;
  readonly labels: readonly string[];
}

const SPECS = [
  { name: "nodepools_usage", type: "gauge", help: "h", labels: ["nodepool", "resource_type"] },
  { name: "pods_drained_total", type: "counter", help: "h", labels: ["reason"] },
  { name: "wait_seconds", type: "histogram", help: "h", labels: [], buckets: [1, 5] },
  { name: "end_seconds", type: "summary", help: "h", labels: ["nodepool"] },
] as const;

/** The lines with values of the metrics whose names begin with `name`. */
async function lines(metrics: ReturnType<typeof createMetrics>, name: string) {
  const text = await metrics.render();
  return text.split("\n").filter((line) => line.startsWith(name));
}

/** The text without the metrics of the process, whose values differ in each run. */
function withoutProcess(text: string): string {
  return text.replaceAll(/^(?:process_|go_gc_).*$/gm, "");
}

describe("metrics", () => {
  it("renders counters, gauges and histograms, with version and commit in build_info", async () => {
    const metrics = createMetrics(SPECS, "1.2.3", "abc");
    metrics.count("pods_drained_total", { reason: "Empty" });
    metrics.count("pods_drained_total", { reason: "Empty" }, 2);
    metrics.set("nodepools_usage", { nodepool: "a", resource_type: "cpu" }, 4);
    metrics.observe("wait_seconds", {}, 3);
    metrics.observe("end_seconds", { nodepool: "a" }, 7);
    expect(await lines(metrics, "karpenter_pods_drained_total")).toEqual([
      'karpenter_pods_drained_total{reason="Empty"} 3',
    ]);
    expect(await lines(metrics, "karpenter_wait_seconds_bucket")).toEqual([
      'karpenter_wait_seconds_bucket{le="1"} 0',
      'karpenter_wait_seconds_bucket{le="5"} 1',
      'karpenter_wait_seconds_bucket{le="+Inf"} 1',
    ]);
    expect(await lines(metrics, "karpenter_end_seconds_sum")).toEqual([
      'karpenter_end_seconds_sum{nodepool="a"} 7',
    ]);
    const [build] = await lines(metrics, "karpenter_build_info");
    expect(build).toContain('version="1.2.3"');
    expect(build).toContain('commit="abc"');
  });

  it("forgets the series that have all the given labels, and no other", async () => {
    const metrics = createMetrics(SPECS, "", "");
    const usage = (nodepool: string, resource_type: string) =>
      metrics.set("nodepools_usage", { resource_type, nodepool }, 1);
    usage("a", "cpu");
    usage("a", "memory");
    usage("ab", "cpu");
    usage("b", "cpu");
    metrics.forget("nodepools_usage", { nodepool: "a" });
    const left = async () =>
      (await lines(metrics, "karpenter_nodepools_usage")).map((line) => line.split(/["]/)[3]);
    expect(await left()).toEqual(["ab", "b"]);
    metrics.forget("nodepools_usage", { nodepool: "b", resource_type: "memory" });
    expect(await left()).toEqual(["ab", "b"]);
    usage("a", "cpu");
    metrics.forget("nodepools_usage", {});
    expect(await left()).toEqual([]);
  });

  it("shows the last value of a gauge, also if it was forgotten since it had the same value", async () => {
    const metrics = createMetrics(SPECS, "", "");
    const of = (value: number) =>
      metrics.set("nodepools_usage", { nodepool: "a", resource_type: "cpu" }, value);
    const shown = () => lines(metrics, "karpenter_nodepools_usage");
    const line = 'karpenter_nodepools_usage{nodepool="a",resource_type="cpu"}';
    of(1);
    metrics.set("nodepools_usage", { resource_type: "cpu", nodepool: "a" }, 2);
    of(1);
    expect(await shown()).toEqual([`${line} 1`]);
    metrics.forget("nodepools_usage", { nodepool: "a" });
    of(1);
    expect(await shown()).toEqual([`${line} 1`]);
    const wrong = { nodepool: "a", resource_type: "cpu", more: "" };
    expect(() => metrics.set("nodepools_usage", wrong, 1)).toThrow("more");
  });

  it("throws for a metric that is not declared", () => {
    const metrics = createMetrics(SPECS, "", "");
    expect(() => metrics.count("no_such_total", {})).toThrow("not declared");
  });

  it("reads a gauge's current values from all its readers, until they stop", async () => {
    const metrics = createMetrics(SPECS, "", "");
    let nodes = 1;
    const name = "nodepools_usage";
    const stop = metrics.read(name, () => [
      { labels: { nodepool: 'a"\n', resource_type: "nodes" }, value: nodes },
    ]);
    metrics.read(name, () => [{ labels: { nodepool: "b", resource_type: "cpu" }, value: 0.5 }]);
    nodes = 2;
    expect(await lines(metrics, "karpenter_nodepools_usage")).toEqual([
      'karpenter_nodepools_usage{nodepool="a\\"\\n",resource_type="nodes"} 2',
      'karpenter_nodepools_usage{nodepool="b",resource_type="cpu"} 0.5',
    ]);
    stop();
    expect(await lines(metrics, "karpenter_nodepools_usage")).toHaveLength(1);
    metrics.read(name, () => [{ labels: { nodepool: "b" }, value: 1 }]);
    await expect(metrics.render()).rejects.toThrow("the labels resource_type are not given");
  });

  // NaN is not compared, because prom-client writes it as Nan.
  it("renders values from readers exactly like values that were set", async () => {
    const [kept, read] = [createMetrics(SPECS, "", ""), createMetrics(SPECS, "", "")];
    const words = ["a", "", 'q"\\', "line\nline", "ü→𝄞", "b,c=d{}"];
    const values = [0, 1, -0.5, 1e21, 1e-7, 0.1 + 0.2, 2 ** 53, 1 / 0, -1 / 0];
    const samples = words.flatMap((nodepool, at) => {
      const shared = { nodepool };
      return values.map((value, nth) => ({
        shared,
        labels: { resource_type: `${at}/${nth}` },
        value,
      }));
    });
    for (const { shared, labels, value } of samples)
      kept.set("nodepools_usage", { ...shared, ...labels }, value);
    read.read("nodepools_usage", () => samples);
    expect(withoutProcess(await read.render())).toBe(withoutProcess(await kept.render()));
  });

  it("renders in parts of at most 256 lines, each made when it is requested", async () => {
    const metrics = createMetrics(SPECS, "", "");
    let made = 0;
    metrics.read("nodepools_usage", function* () {
      for (; made < 10_000; made++)
        yield { labels: { nodepool: `p-${made}`, resource_type: "cpu" }, value: 1 };
    });
    const parts: string[] = [];
    let before = 0;
    for await (const part of metrics.parts()) {
      parts.push(part);
      expect(made - before).toBeLessThanOrEqual(256);
      before = made;
    }
    made = 0;
    const own = (text: string) =>
      text.split("\n").filter((line) => line.includes("nodepools_usage"));
    expect(own(parts.join(""))).toEqual(own(await metrics.render()));
    const values = parts.join("").match(/^karpenter_nodepools_usage\{.*\} 1$/gm);
    expect(values).toHaveLength(10_000);
    expect(parts.join("").match(/# TYPE karpenter_nodepools_usage gauge/g)).toHaveLength(1);
  });

  it("pauses also at items without series, and renders the same text", async () => {
    const metrics = createMetrics(SPECS, "", "");
    const text = await metrics.render();
    let looked = 0;
    const stop = metrics.read("nodepools_usage", function* () {
      for (looked = 0; looked < 10_000; looked++) yield undefined;
    });
    let before = 0;
    for await (const _ of metrics.parts()) {
      expect(looked - before).toBeLessThanOrEqual(1);
      before = looked;
    }
    expect(before).toBe(10_000);
    expect(withoutProcess(await metrics.render())).toBe(withoutProcess(text));
    stop();
    const sample = { labels: { nodepool: "a", resource_type: "cpu" }, value: 1 };
    metrics.read("nodepools_usage", () => [...Array(300).fill(undefined), sample, undefined]);
    expect(await lines(metrics, "karpenter_nodepools_usage")).toHaveLength(1);
    expect((await metrics.render()).match(/# TYPE karpenter_nodepools_usage gauge/g)).toHaveLength(
      1,
    );
  });

  it("renders no metric without series, and no gauge that was never set", async () => {
    const synced = { name: "synced", type: "gauge", help: "h", labels: [] } as const;
    const metrics = createMetrics([...SPECS, synced], "", "");
    expect(await metrics.render()).not.toMatch(/pods_drained_total|synced/);
    metrics.set("synced", {}, 0);
    expect(await lines(metrics, "karpenter_synced")).toEqual(["karpenter_synced 0"]);
  });

  it("declares every metric of upstream's reference, with its type and labels", () => {
    const ours = new Map(declared(["karpenter.k8s.aws/instance-family"]));
    expect([...DOCUMENTED.keys()].filter((name) => !ours.has(name))).toEqual([]);
    for (const [name, { type, labels }] of DOCUMENTED) {
      const own = ours.get(name)?.labels.filter((label) => label !== "instance_family");
      expect({ name, type: ours.get(name)?.type, labels: own?.toSorted() }).toEqual({
        name,
        type,
        labels,
      });
    }
  });

  it("has upstream's type and labels for each metric name that upstream was observed to export", () => {
    const ours = declared([]).filter(([name]) => OBSERVED.has(name));
    expect(ours.length).toBeGreaterThan(25);
    for (const [name, { type, labels }] of ours) {
      const theirs = OBSERVED.get(name) as Observed;
      expect({ name, type }).toEqual({ name, type: theirs.type });
      for (const label of theirs.labels.filter((one) => !KWOK_LABELS.includes(one)))
        expect(labels, name).toContain(label);
    }
  });
});

function declared(wellKnownLabels: readonly string[]): readonly (readonly [string, MetricSpec])[] {
  const provider = { nodeClassKinds: [EC2_NODE_CLASS as Kind], wellKnownLabels };
  const all = [...controllerMetrics(provider), ...AWS_METRICS, ...KUBE_METRICS, BUILD_INFO];
  return all.map((spec) => [fullName(spec), spec] as const);
}

/** Every name that upstream offers exists here, or scripts/parity/lacks.ts has a reason why not. */
import { describe, expect, it } from "vitest";
import { LACKS, type Lack } from "../scripts/parity/lacks.ts";
import { ourFacts } from "../scripts/parity/ours.ts";
import { compare } from "../scripts/parity/parity-page.ts";
import { upstreamFacts } from "../scripts/parity/upstream-facts.ts";

const theirs = upstreamFacts();
const compared = compare(theirs, ourFacts());

describe("the record of parity with upstream", () => {
  it.each(compared)("explains each missing part: $title", ({ lacks }) => {
    expect(lacks.filter(({ lack }) => lack === undefined).map(({ name }) => name)).toEqual([]);
  });

  it("lists nothing as missing that exists here, or that upstream has not", () => {
    const used = new Set<Lack | undefined>(
      compared.flatMap(({ lacks }) => lacks.map(({ lack }) => lack)),
    );
    expect(LACKS.filter((one) => !used.has(one)).map(({ names }) => names.source)).toEqual([]);
  });

  it("covers every area of upstream", () => {
    for (const { title, same } of compared) expect(same.length, title).toBeGreaterThan(5);
  });

  it("fails if upstream adds a name", () => {
    const withMore = { ...theirs, metrics: [...theirs.metrics, "karpenter_new_total"] };
    const metrics = compare(withMore, ourFacts()).find(({ area }) => area === "metrics");
    expect(metrics?.lacks).toContainEqual({ name: "karpenter_new_total", lack: undefined });
  });

  it("fails if a metric here lacks a label of upstream's", () => {
    const label = "karpenter_nodes_reboots_total{result}";
    expect(theirs.metricLabels).toContain(label);
    const { metricLabels, ...rest } = ourFacts();
    const fewer = { ...rest, metricLabels: metricLabels.filter((name) => name !== label) };
    const found = compare(theirs, fewer).find(({ area }) => area === "metricLabels");
    expect(found?.lacks).toEqual([{ name: label, lack: undefined }]);
  });

  it("knows the labels of all metrics of upstream, also where a function of upstream makes them", () => {
    const labels = compared.find(({ area }) => area === "metricLabels");
    const of = (name: string) => name.split("{")[0] ?? "";
    expect(labels?.same).toContain("karpenter_nodes_allocatable{arch}");
    expect(labels?.more.filter((name) => theirs.metrics.includes(of(name)))).toEqual([]);
  });

  it("counts no field as ours in an object in which upstream takes any field", () => {
    const fields = compared.find(({ area }) => area === "fields");
    expect(fields?.same).toContain("EC2NodeClass spec.kubelet.*");
    expect(fields?.more.filter((name) => name.includes(" spec.kubelet."))).toEqual([]);
  });

  it("fails if a flag is removed here", () => {
    const { flags, ...rest } = ourFacts();
    const fewer = { ...rest, flags: flags.filter((name) => name !== "log-level") };
    const found = compare(theirs, fewer).find(({ area }) => area === "flags");
    expect(found?.lacks).toContainEqual({ name: "log-level", lack: undefined });
  });
});

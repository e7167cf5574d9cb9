/**
 * The sandbox's scheduler allocates devices as the real kube-scheduler did, in generated cases. The same pods are
 * placed, on nodes that the sandbox finds feasible, and the reason is the same where none is feasible. After each
 * pod both continue from the real scheduler's allocation.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { ResourceClaim } from "../../src/apis/resource/kinds.ts";
import { claimWrites } from "../../src/sandbox/kube-scheduler/devices/assumed-claims.ts";
import { type Feasible, feasibleNodes } from "../../src/sandbox/kube-scheduler/feasible.ts";
import { unschedulableMessage } from "../../src/sandbox/kube-scheduler/message.ts";
import { podInfo } from "../../src/sandbox/kube-scheduler/pod-info.ts";
import { findPreemption } from "../../src/sandbox/kube-scheduler/preemption.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../../src/sandbox/testing/snapshots.ts";
import { CLASSES, type DeviceCase, deviceCase } from "./devices/cases.ts";
import {
  CASES,
  type DeviceAnswer,
  devicesOf,
  RECORDING,
  type RecordedCase,
  type RecordedDevices,
} from "./devices/recording.ts";

const { answers } = JSON.parse(readFileSync(RECORDING, "utf8")) as RecordedDevices;

/**
 * Whether two answers agree. An error on one node ends the search, and which node comes first is chance. With
 * requests for all devices, the order of a Go map decides whether the real scheduler refuses or fails. Such a pod
 * must only be refused by both.
 */
function isSame(real: DeviceAnswer | undefined, mine: DeviceAnswer | undefined): boolean {
  if (JSON.stringify(real) === JSON.stringify(mine)) return true;
  if (real === undefined || mine === undefined || "node" in real || "node" in mine) return false;
  return [real, mine].some(({ refused }) => refused.includes("cannot add device"));
}

/**
 * The claim with the devices that the real scheduler chose. Its choice follows the order of a Go map, so it cannot
 * be predicted.
 */
function asAllocated(claim: ResourceClaim, theirs: readonly string[]): ResourceClaim {
  const results = theirs.map((one) => {
    const [request = "", id = ""] = one.split(" ");
    const [driver = "", pool = "", device = ""] = id.split("/");
    return { request, driver, pool, device };
  });
  const { status } = claim;
  return {
    ...claim,
    status: { ...status, allocation: { ...status?.allocation, devices: { results } } },
  };
}

/** The sandbox's answer about each pod, with earlier pods placed as the real scheduler placed them. */
function ours(asked: DeviceCase, real: RecordedCase): { pods: DeviceAnswer[]; devices: unknown } {
  const claims = new Map(asked.claims.map((one) => [one.metadata.name, one]));
  const placed: Pod[] = [];
  const theirsOf = ({ metadata }: ResourceClaim) =>
    real.devices[asked.claims.findIndex((one) => one.metadata.name === metadata.name)] ?? [];
  const devices = {
    claim: (_: string, name: string) => claims.get(name),
    claims: () => [...claims.values()],
    slices: () => asked.slices,
    deviceClass: (name: string) => CLASSES.find(({ metadata }) => metadata.name === name),
  };
  const pods = asked.pods.map((plain, at): DeviceAnswer => {
    const pod = { ...plain, metadata: { ...plain.metadata, uid: plain.metadata.name } };
    const snapshot = snapshotOf(asked.nodes, placed, { ...NO_SURROUNDINGS, devices });
    const info = podInfo(pod);
    let result: Feasible;
    try {
      result = feasibleNodes(info, snapshot);
    } catch (error) {
      return { refused: (error as Error).message };
    }
    if (result.nodes.length === 0) {
      const preemption = findPreemption(info, result, snapshot);
      return { refused: unschedulableMessage(result, asked.nodes.length, preemption) };
    }
    const theirs = real.pods[at];
    const chosen = theirs !== undefined && "node" in theirs ? theirs.node : "";
    const node = result.nodes.find(({ name }) => name === chosen);
    if (node === undefined) return { node: result.nodes.map(({ name }) => name).join(" or ") };
    for (const { after } of claimWrites(pod, node, { devices, shareId: () => "part" }))
      claims.set(after.metadata.name, asAllocated(after, theirsOf(after)));
    placed.push({ ...pod, spec: { ...pod.spec, nodeName: node.name } });
    return { node: node.name };
  });
  return { pods, devices: [...claims.values()].map((one: ResourceClaim) => devicesOf(one)) };
}

describe("the simulated scheduler's allocation of devices", () => {
  const both = answers.map((real, index) => ({ index, real, mine: ours(deviceCase(index), real) }));

  it("gives devices to the same pods as kube-scheduler, and refuses in the same words", () => {
    const different = both.filter(
      ({ real, mine }) => !real.pods.every((one, at) => isSame(one, mine.pods[at])),
    );
    expect(different).toEqual([]);
    expect(answers).toHaveLength(CASES);
  });

  it("is compared in cases of which many, but not all, are refused", () => {
    const all = answers.flatMap(({ pods }) => pods);
    const refused = all.filter((one) => "refused" in one).length;
    expect(refused).toBeGreaterThan(all.length / 10);
    expect(refused).toBeLessThan((all.length * 9) / 10);
  });
});

import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import { node, pod } from "../../testing/builders.ts";
import { cordoned, cordonedForTermination, isCordoned, uncordoned } from "../state/cordon.ts";
import { drain, mustDelete } from "./drain.ts";
import { blockingAttachments } from "./volumes.ts";

const NOW = Date.UTC(2026, 0, 5);
const at = (name: string, options: Parameters<typeof pod>[0] = {}): Pod =>
  pod({ name, nodeName: "n", owner: { kind: "ReplicaSet", name: "r" }, ...options });
const DAEMON = { owner: { kind: "DaemonSet", name: "d" } };
const CRITICAL = { spec: { priorityClassName: "system-node-critical" } };
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

describe("draining", () => {
  it("evicts pods in four tiers, each when the one before is gone", () => {
    const tiers = [
      at("app"),
      at("daemon", DAEMON),
      at("critical", CRITICAL),
      at("critical-daemon", { ...DAEMON, ...CRITICAL }),
    ];
    for (const [index, tier] of tiers.entries()) {
      const plan = drain({ nowMs: NOW, pods: tiers.slice(index), deadlineMs: undefined });
      expect(names(plan.evict)).toEqual([tier.metadata.name]);
      expect(names(plan.later)).toEqual(names(tiers.slice(index + 1)).toSorted());
      expect(plan.waiting).toBe(tiers.length - index);
    }
    expect(drain({ nowMs: NOW, pods: [], deadlineMs: undefined })).toEqual({
      evict: [],
      later: [],
      waiting: 0,
    });
  });

  it("ignores pods that tolerate the disruption taint, mirror pods and ended pods", () => {
    const stay = [
      at("stays", {
        spec: { tolerations: [{ key: "karpenter.sh/disrupted", operator: "Exists" }] },
      }),
      at("static", { owner: { apiVersion: "v1", kind: "Node", name: "n" } }),
      at("done", { status: { phase: "Succeeded" } }),
    ];
    expect(drain({ nowMs: NOW, pods: stay, deadlineMs: undefined }).waiting).toBe(0);
  });

  it("evicts pods of any tier whose grace period would exceed the deadline", () => {
    const slow = at("slow", { ...DAEMON, spec: { terminationGracePeriodSeconds: 600 } });
    const plan = drain({ nowMs: NOW, pods: [at("app"), slow], deadlineMs: NOW + 60_000 });
    expect(names(plan.evict)).toEqual(["slow", "app"]);
    expect(mustDelete(slow, NOW + 60_000, NOW)).toBe(true);
    expect(mustDelete(slow, NOW + 700_000, NOW)).toBe(false);
    expect(mustDelete(slow, undefined, NOW)).toBe(false);
  });
});

describe("cordon and uncordon", () => {
  it("use the field, taint and label of each API generation", () => {
    const [alpha, beta, v1] = (["alpha", "beta", "v1"] as const).map(vocabulary) as never as [
      ReturnType<typeof vocabulary>,
      ReturnType<typeof vocabulary>,
      ReturnType<typeof vocabulary>,
    ];
    expect(cordoned(node(), alpha).spec?.unschedulable).toBe(true);
    expect(cordoned(node(), beta).spec?.taints).toEqual([
      { key: "karpenter.sh/disruption", value: "disrupting", effect: "NoSchedule" },
    ]);
    expect(cordoned(node(), v1).spec?.taints).toEqual([
      { key: "karpenter.sh/disrupted", effect: "NoSchedule" },
    ]);
    for (const words of [alpha, beta, v1]) {
      expect(isCordoned(uncordoned(cordoned(node(), words), words), words)).toBe(false);
    }
    expect(cordonedForTermination(node(), v1).metadata.labels).toMatchObject({
      "node.kubernetes.io/exclude-from-external-load-balancers": "karpenter",
    });
  });
});

describe("volume attachments of a deleted node", () => {
  const attachment = (name: string, volume: string, nodeName = "n") => ({
    metadata: { name },
    spec: { attacher: "ebs", nodeName, source: { persistentVolumeName: volume } },
  });
  const claim = (name: string, volumeName: string) => ({
    metadata: { name, namespace: "default" },
    spec: { volumeName },
  });
  it("block termination unless a pod that is not evicted uses the volume", () => {
    const stays = at("stays", {
      spec: {
        tolerations: [{ operator: "Exists" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "kept" } }],
      },
    });
    const blocking = blockingAttachments({
      nowMs: NOW,
      nodeName: "n",
      pods: [stays],
      attachments: [
        attachment("a", "pv-kept"),
        attachment("b", "pv-app"),
        attachment("c", "pv-else", "other"),
      ],
      claims: [claim("kept", "pv-kept")],
    });
    expect(blocking.map(({ metadata }) => metadata.name)).toEqual(["b"]);
  });
});

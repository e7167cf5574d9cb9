import { describe, expect, it } from "vitest";
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { pod } from "../../testing/builders.ts";
import { type Surge, surgeOf } from "./surge.ts";

const READY = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } as const;
const ASKS = { "karpenter.sh/zero-downtime": "true" };

function running(
  options: { annotations?: Record<string, string>; spec?: Partial<Pod["spec"]> } = {},
) {
  return pod({
    name: "web-5f-x",
    nodeName: "a",
    labels: { app: "web", "pod-template-hash": "5f" },
    annotations: options.annotations ?? ASKS,
    owner: { kind: "ReplicaSet", name: "web-5f", apiVersion: "apps/v1" },
    status: READY,
    spec: options.spec ?? {},
  });
}

interface Parts {
  readonly annotations?: Record<string, string>;
  readonly spec?: Partial<Deployment["spec"]>;
  readonly stamp?: string;
  readonly status?: Deployment["status"];
}

function deployment({ annotations = {}, spec = {}, stamp, status }: Parts = {}): Deployment {
  const stamps = stamp === undefined ? {} : { "karpenter.sh/surged-at": stamp };
  return {
    metadata: { name: "web", namespace: "default", generation: 3, annotations },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { annotations: stamps }, spec: { containers: [] } },
      ...spec,
    },
    status: status ?? { observedGeneration: 3, replicas: 1, updatedReplicas: 1 },
  };
}

function verdict(
  one: Pod,
  of: Deployment | undefined,
  modes: readonly string[] = [],
  surgeNamespaces: readonly string[] = ["*"],
): Surge {
  return surgeOf(one, {
    surgeNamespaces,
    deployment: (key) => (key === "default/web" ? of : undefined),
    volumeClaim: () => ({ metadata: { name: "data" }, spec: { accessModes: modes } }),
  });
}

describe("a move without downtime", () => {
  it("is for ready pods with the annotation on themselves or their Deployment", () => {
    expect(verdict(running(), deployment()).kind).toBe("able");
    const plain = running({ annotations: {} });
    expect(verdict(plain, deployment({ annotations: ASKS })).kind).toBe("able");
    expect(verdict(plain, deployment()).kind).toBe("none");
    expect(verdict({ ...running(), status: { phase: "Running" } }, deployment()).kind).toBe("none");
  });

  it("is made only in namespaces where Karpenter may patch Deployments", () => {
    const within = (...namespaces: string[]) => verdict(running(), deployment(), [], namespaces);
    expect(within("shop", "default").kind).toBe("able");
    expect(within("shop")).toEqual({
      kind: "unable",
      why: expect.stringMatching(/may not patch Deployments in namespace default; grant it with/),
    });
    expect(within().kind).toBe("unable");
    // A pod without the annotation gets no event.
    expect(verdict(running({ annotations: {} }), deployment(), [], []).kind).toBe("none");
  });

  const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
    strategy: { type: "RollingUpdate" as const, rollingUpdate: { maxSurge, maxUnavailable } },
  });

  it.each([
    ["several replicas", { spec: { replicas: 3 } }, /has 3 replicas; a PodDisruptionBudget/],
    ["paused", { spec: { paused: true } }, /is paused/],
    ["Recreate", { spec: { strategy: { type: "Recreate" as const } } }, /strategy is Recreate/],
    ["no surge", { spec: rolling("0%", 1) }, /maxSurge is 0/],
    ["may be down", { spec: rolling(1, 1) }, /maxUnavailable lets the old pod go first/],
    ["all may be down", { spec: rolling(1, "100%") }, /maxUnavailable lets the old pod go first/],
    [
      "stuck",
      { status: { conditions: [{ type: "Progressing", status: "False" as const }] } },
      /rollout does not get on/,
    ],
  ])("is refused for a Deployment with: %s", (_, parts, why) => {
    expect(verdict(running(), deployment(parts as Parts))).toMatchObject({
      kind: "unable",
      why: expect.stringMatching(why),
    });
  });

  it("is possible if maxUnavailable rounds down to zero", () => {
    expect(verdict(running(), deployment({ spec: rolling("1%", "99%") })).kind).toBe("able");
  });

  it("is refused for a ReadWriteOnce volume", () => {
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
    const one = running({ spec: { volumes } });
    expect(verdict(one, deployment(), ["ReadWriteOnce"])).toEqual({
      kind: "unable",
      why: "its volume data can be on one node only",
    });
    expect(verdict(one, deployment(), ["ReadWriteMany"]).kind).toBe("able");
  });

  it("is in progress while the Deployment rolls out, by Karpenter or by others", () => {
    const stamped = deployment({ stamp: "2030-01-01T00:00:00Z" });
    expect(verdict(running(), stamped)).toMatchObject({ kind: "rolling", ours: true });
    const status = { observedGeneration: 3, replicas: 2, updatedReplicas: 1 };
    expect(verdict(running(), deployment({ status }))).toMatchObject({
      kind: "rolling",
      ours: false,
    });
    // The new pod was created after the restart, so it may be moved again.
    const fresh = running({
      annotations: { ...ASKS, "karpenter.sh/surged-at": "2030-01-01T00:00:00Z" },
    });
    expect(verdict(fresh, stamped).kind).toBe("able");
  });

  it("is refused for a pod without a Deployment", () => {
    const bare = pod({ name: "bare", nodeName: "a", annotations: ASKS, status: READY });
    expect(verdict(bare, undefined)).toEqual({
      kind: "unable",
      why: "no Deployment of its is known",
    });
  });
});

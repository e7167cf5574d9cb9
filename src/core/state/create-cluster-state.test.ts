import { describe, expect, it } from "vitest";
import type { DaemonSet } from "../../apis/apps/kinds.ts";
import { atOnce } from "../../base/steps.ts";
import { node, nodeClaim, pod } from "../../testing/builders.ts";
import { putLast } from "./cordon.ts";
import { createClusterState } from "./create-cluster-state.ts";
import { plannedPodsAnnotation } from "./planned-pods.ts";

const REGISTERED = { "karpenter.sh/registered": "true" };
const INITIALIZED = { ...REGISTERED, "karpenter.sh/initialized": "true" };
const OWNED = { "karpenter.sh/nodepool": "default" };

function versioned<T extends { readonly metadata: object }>(object: T, resourceVersion: string): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

describe("createClusterState", () => {
  it("joins a Node and its NodeClaim by provider ID, whichever comes first", () => {
    const claim = nodeClaim({ name: "c", status: { providerID: "test://n" } });
    const joined = node({
      name: "n",
      providerId: "test://n",
      labels: { ...OWNED, ...INITIALIZED },
    });
    for (const order of ["claim first", "node first"]) {
      const state = createClusterState();
      if (order === "claim first") state.updateClaim(claim);
      state.updateNode(joined);
      if (order === "node first") state.updateClaim(claim);
      const views = state.nodes();
      expect(views.map((view) => [view.name, view.poolId, view.initialized])).toEqual([
        ["n", "nodepool/default", true],
      ]);
      expect(state.node("n")).toBe(views[0]);
      expect(state.node("c")).toBeUndefined();
    }
  });

  it.each(["claim", "node"])(
    "waits for no pod that ran on the Node before the %s had its provider ID",
    (last) => {
      const state = createClusterState();
      const owner = { kind: "ReplicaSet", name: "web", uid: "web" };
      const pods = ["x", "y"].map((name) => pod({ name, nodeName: "n", owner }));
      const metadata = { annotations: plannedPodsAnnotation([...pods, pod({ name: "z", owner })]) };
      const unlaunched = nodeClaim({ name: "c", metadata, status: {} });
      const launched = nodeClaim({ name: "c", metadata, status: { providerID: "test://n" } });
      const named = node({ name: "n", providerId: "test://n" });
      state.updateClaim(last === "claim" ? unlaunched : launched);
      state.updateNode(last === "claim" ? named : { ...named, spec: {} });
      for (const one of pods) state.updatePod(one);
      atOnce(state.recall(0));
      expect(state.placements.awaitedAt("c", 0)?.count).toBe(3);
      if (last === "claim") state.updateClaim(launched);
      else state.updateNode(named);
      expect(state.placements.awaitedAt("c", 0)?.count).toBe(1);
    },
  );

  it("ends one seat for each pod that was bound before its Node was known to be the claim's", () => {
    const state = createClusterState();
    const owner = { kind: "ReplicaSet", name: "web", uid: "web" };
    const pods = ["x", "y"].map((name) => pod({ name, owner }));
    const metadata = { annotations: plannedPodsAnnotation([...pods, pod({ name: "z", owner })]) };
    const awaited = () => state.placements.awaitedAt("c", 0)?.count;
    state.updateClaim(nodeClaim({ name: "c", metadata, status: {} }));
    state.updateNode(node({ name: "n", providerId: "test://n" }));
    for (const one of pods) state.updatePod(one);
    atOnce(state.recall(0));
    const counts = [awaited()];
    for (const {
      metadata: { name },
    } of pods) {
      state.updatePod(pod({ name, nodeName: "n", owner }));
      counts.push(awaited());
    }
    state.updateClaim(nodeClaim({ name: "c", metadata, status: { providerID: "test://n" } }));
    expect([...counts, awaited()]).toEqual([3, 2, 1, 1]);
  });

  it("shows a launched NodeClaim as a node before its Node joins", () => {
    const state = createClusterState();
    const status = { providerID: "test://n", allocatable: { cpu: "3900m" } };
    state.updateClaim(nodeClaim({ name: "c", labels: { zone: "a" }, status }));
    const [view] = state.nodes();
    expect(view).toMatchObject({ name: "c", registered: false, initialized: false });
    expect(state.node("c")).toBe(view);
    expect(view?.labels["zone"]).toBe("a");
    expect(view?.available).toEqual({ cpu: 3_900 });
  });

  it("ignores a Node of ours until it has a provider ID", () => {
    const state = createClusterState();
    state.updateNode({ ...node({ name: "n", labels: OWNED }), spec: {} });
    expect(state.nodes()).toEqual([]);
    state.updateNode(node({ name: "n", labels: OWNED, providerId: "test://n" }));
    expect(state.nodes()).toHaveLength(1);
  });

  it("is synced when every NodeClaim has a provider ID", () => {
    const state = createClusterState();
    expect(state.synced).toBe(true);
    state.updateClaim(nodeClaim({ name: "c", status: {} }));
    expect(state.synced).toBe(false);
    state.updateClaim(nodeClaim({ name: "c", status: { providerID: "test://n" } }));
    expect(state.synced).toBe(true);
    state.updateClaim(nodeClaim({ name: "d", status: {} }));
    state.deleteClaim("d", "NodeClaim");
    expect(state.synced).toBe(true);
  });

  it("hides startup and ephemeral taints until the node is initialized", () => {
    const state = createClusterState();
    const startupTaints = [{ key: "cilium", effect: "NoExecute" as const }];
    state.updateClaim(nodeClaim({ name: "c", startupTaints, status: { providerID: "test://n" } }));
    const taints = [
      ...startupTaints,
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" as const },
      { key: "dedicated", effect: "NoSchedule" as const },
    ];
    const keys = () => state.nodes()[0]?.taints.map((taint) => taint.key);
    state.updateNode(node({ name: "n", providerId: "test://n", taints, labels: REGISTERED }));
    expect(keys()).toEqual(["dedicated"]);
    state.updateNode(node({ name: "n", providerId: "test://n", taints, labels: INITIALIZED }));
    expect(keys()).toHaveLength(3);
  });

  it("subtracts the requests of bound pods from a node, until they end", () => {
    const state = createClusterState();
    state.updateNode(node({ name: "n" }));
    state.updatePod(pod({ name: "p", cpu: "1" }));
    expect(state.unboundPods().map((one) => one.metadata.name)).toEqual(["p"]);
    state.updatePod(pod({ name: "p", cpu: "1", nodeName: "n" }));
    expect(state.unboundPods()).toEqual([]);
    expect(state.nodes()[0]?.available["cpu"]).toBe(3_000);
    state.updatePod(pod({ name: "p", nodeName: "n", status: { phase: "Succeeded" } }));
    expect(state.nodes()[0]?.available["cpu"]).toBe(4_000);
  });

  it("returns the same array until something changes, and never changes an old snapshot", () => {
    const state = createClusterState();
    state.updateNode(node({ name: "n" }));
    const before = state.nodes();
    expect(state.nodes()).toBe(before);
    state.updatePod(pod({ name: "p", nodeName: "n" }));
    expect(state.nodes()).not.toBe(before);
    expect(before[0]?.pods).toEqual([]);
  });

  it("ignores an object with an older resourceVersion", () => {
    const state = createClusterState();
    state.updateNode(versioned(node({ name: "n", labels: { v: "new" } }), "10"));
    state.updateNode(versioned(node({ name: "n", labels: { v: "old" } }), "9"));
    expect(state.nodes()[0]?.labels["v"]).toBe("new");
  });

  it("marks for deletion and nominates by node name, NodeClaim name or provider ID", () => {
    const state = createClusterState();
    state.updateClaim(nodeClaim({ name: "c", status: { providerID: "test://n" } }));
    state.nominate("c", 5_000);
    state.updateNode(node({ name: "n", providerId: "test://n", labels: INITIALIZED }));
    expect(state.nodes()[0]?.nominatedUntilMs).toBe(5_000);
    for (const name of ["c", "n", "test://n"]) {
      state.markForDeletion(name);
      expect(state.nodes()[0]?.deleting).toBe(true);
      state.unmarkForDeletion(name);
      expect(state.nodes()[0]?.deleting).toBe(false);
    }
  });

  it("drops the deletion mark with its Node and NodeClaim, whichever name it was set by", () => {
    const state = createClusterState();
    const joins = () => {
      state.updateClaim(nodeClaim({ name: "c", status: { providerID: "test://i" } }));
      state.updateNode(node({ name: "n", providerId: "test://i", labels: INITIALIZED }));
    };
    joins();
    state.markForDeletion("n", "c", "test://i");
    state.replacedBy(["n", "c"], ["next"]);
    state.deleteNode("n");
    state.deleteClaim("c", "NodeClaim");
    joins();
    expect(state.node("n")?.deleting).toBe(false);
    // This marked node has no replacement.
    state.markForDeletion("c");
    state.deleteNode("n");
    expect(state.poolUsage("nodepool/default")).toEqual({});
  });

  it("drops the deletion mark and nomination if another Node of the same name appears", () => {
    const state = createClusterState();
    const made = node({ name: "n", labels: INITIALIZED });
    state.updateNode(made);
    state.markForDeletion("n");
    state.nominate("n", 5_000);
    state.updateNode({ ...made, metadata: { ...made.metadata, uid: "another" } });
    expect(state.node("n")).toMatchObject({ deleting: false, nominatedUntilMs: 0 });
  });

  it("keeps the deletion mark and replacements of a NodeClaim while its Node is away", () => {
    const state = createClusterState();
    const claim = (name: string) => nodeClaim({ name, status: { providerID: `test://${name}` } });
    const joins = () =>
      state.updateNode(node({ name: "n", providerId: "test://c", labels: INITIALIZED }));
    state.updateClaim(claim("c"));
    state.updateClaim(claim("next"));
    joins();
    state.markForDeletion("n", "c");
    state.replacedBy(["n", "c"], ["next"]);
    state.deleteNode("n");
    expect(state.node("c")?.deleting).toBe(true);
    expect(state.poolUsage("nodepool/default")).toMatchObject({ nodes: 1 });
    state.deleteClaim("next", "NodeClaim");
    // The node is kept, because its replacement is gone.
    expect(state.poolUsage("nodepool/default")).toMatchObject({ nodes: 1 });
    joins();
    expect(state.node("n")?.deleting).toBe(true);
  });

  it("sums pool usage without nodes marked for deletion", () => {
    const state = createClusterState();
    for (const name of ["a", "b"]) {
      state.updateClaim(nodeClaim({ name, status: { providerID: `test://${name}` } }));
      state.updateNode(node({ name, labels: INITIALIZED }));
    }
    expect(state.poolUsage("nodepool/default")).toMatchObject({ cpu: 8_000, nodes: 2 });
    state.markForDeletion("a");
    expect(state.poolUsage("nodepool/default")).toMatchObject({ cpu: 4_000, nodes: 1 });
  });

  it("counts a node marked for deletion again once its replacement is deleted (calm seed 97154)", () => {
    const state = createClusterState();
    const cpu = () => state.poolUsage("nodepool/default")["cpu"] ?? 0;
    const gone = { deletionTimestamp: "2026-01-05T08:00:00Z" };
    const claim = (name: string) => nodeClaim({ name, status: { providerID: `test://${name}` } });
    state.updateClaim(claim("a"));
    state.updateNode(node({ name: "a", labels: INITIALIZED }));
    const made = claim("next");
    const capacity = { cpu: "4" };
    state.updateClaim({ ...made, status: { ...made.status, capacity } } as typeof made);
    state.markForDeletion("a");
    state.replacedBy(["a"], ["next"]);
    expect(cpu()).toBe(4_000);
    state.updateClaim({ ...made, metadata: { ...made.metadata, ...gone } });
    expect(cpu()).toBe(4_000);
    expect(state.node("a")?.deleting).toBe(true);
    state.deleteClaim("next", "NodeClaim");
    expect(cpu()).toBe(4_000);
    // The node was deleted for another reason. Like any leaving node, it does not count.
    const leaving = claim("a");
    state.updateClaim({ ...leaving, metadata: { ...leaving.metadata, ...gone } });
    expect(cpu()).toBe(0);
  });

  it("drops the recorded replacements together with the deletion mark", () => {
    const state = createClusterState();
    state.updateClaim(nodeClaim({ name: "a", status: { providerID: "test://a" } }));
    state.updateNode(node({ name: "a", labels: INITIALIZED }));
    state.markForDeletion("a");
    state.replacedBy(["a"], ["next"]);
    expect(state.poolUsage("nodepool/default")).toMatchObject({ nodes: 1 });
    state.unmarkForDeletion("a");
    state.markForDeletion("a");
    expect(state.poolUsage("nodepool/default")).toEqual({});
  });

  it("counts nodes with the pool's label in its usage, also without a NodeClaim", () => {
    const state = createClusterState();
    state.updateNode(node({ labels: INITIALIZED }));
    state.updateNode(node({ name: "other", labels: { "karpenter.sh/nodepool": "other" } }));
    expect(state.poolUsage("nodepool/other")).toMatchObject({ cpu: 4_000, nodes: 1 });
  });

  it("changes its revision only if a consolidation could have become possible", () => {
    const state = createClusterState();
    const moves = (change: () => void) => {
      const before = state.revision;
      change();
      return state.revision !== before;
    };
    expect(moves(() => state.updateNode(node({ name: "n" })))).toBe(true);
    expect(moves(() => state.updatePod(pod({ name: "p", nodeName: "n" })))).toBe(true);
    expect(moves(() => state.updatePod(pod({ name: "q" })))).toBe(false);
    expect(moves(() => state.nominate("n", 1))).toBe(false);
    const joined = node({ name: "n", labels: { team: "a" } });
    expect(moves(() => state.updateNode(joined))).toBe(true);
    expect(moves(() => state.updateNode({ ...joined }))).toBe(false);
    const tainted = (key: string) => ({ taints: [{ key, effect: "NoSchedule" as const }] });
    const maintained = { ...joined, spec: { ...joined.spec, ...tainted("maintenance") } };
    expect(moves(() => state.updateNode(maintained))).toBe(true);
    expect(moves(() => state.updateNode(putLast(maintained, true)))).toBe(false);
    expect(moves(() => state.updatePod(pod({ name: "p", nodeName: "n" })))).toBe(false);
    expect(moves(() => state.updatePod(pod({ name: "p", nodeName: "n", cpu: "2" })))).toBe(true);
    const quiet = (status: "True" | "False") =>
      nodeClaim({ name: "c", status: { conditions: [{ type: "Consolidatable", status }] } });
    state.updateClaim(quiet("False"));
    expect(moves(() => state.updateClaim(quiet("True")))).toBe(true);
    expect(moves(() => state.updateClaim(quiet("False")))).toBe(false);
    expect(moves(() => state.deletePod("default/p"))).toBe(true);
  });

  it("plans a DaemonSet by its newest pod, without that pod's node affinity", () => {
    const state = createClusterState();
    const daemonSet: DaemonSet = {
      metadata: { name: "agent", namespace: "kube-system" },
      spec: {
        selector: {},
        template: {
          spec: { containers: [{ name: "main", resources: { limits: { cpu: "200m" } } }] },
        },
      },
    };
    state.updateDaemonSet(daemonSet);
    const requests = () => state.daemonPods()[0]?.spec.containers[0]?.resources?.requests;
    expect(requests()).toEqual({ cpu: "200m" });
    const limits = [
      { type: "Container", default: { cpu: "2" }, defaultRequest: { cpu: "1", memory: "64Mi" } },
      { type: "Pod", default: { cpu: "9" } },
    ];
    const range = (namespace: string) => ({ metadata: { name: "r", namespace }, spec: { limits } });
    state.admission.updateLimitRange(range("other"));
    expect(requests()).toEqual({ cpu: "200m" });
    state.admission.updateLimitRange(range("kube-system"));
    expect(requests()).toEqual({ cpu: "200m", memory: "64Mi" });
    state.admission.deleteLimitRange(range("kube-system"));
    expect(requests()).toEqual({ cpu: "200m" });
    state.admission.updateLimitRange(range("kube-system"));
    const gvisor = {
      metadata: { name: "gvisor" },
      handler: "runsc",
      overhead: { podFixed: { memory: "100Mi" } },
      scheduling: { nodeSelector: { sandboxed: "true" }, tolerations: [{ key: "sandboxed" }] },
    };
    const { template } = daemonSet.spec;
    const inClass = { ...template, spec: { ...template.spec, runtimeClassName: "gvisor" } };
    state.updateDaemonSet({ ...daemonSet, spec: { ...daemonSet.spec, template: inClass } });
    expect(state.daemonPods()[0]?.spec.overhead).toBe(undefined);
    state.admission.updateRuntimeClass(gvisor);
    expect(state.daemonPods()[0]?.spec).toMatchObject({
      overhead: { memory: "100Mi" },
      nodeSelector: { sandboxed: "true" },
      tolerations: [{ key: "sandboxed" }],
    });
    state.admission.deleteRuntimeClass("gvisor");
    expect(state.daemonPods()[0]?.spec.overhead).toBe(undefined);
    const owner = { kind: "DaemonSet", name: "agent" };
    const tied = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
    };
    state.updatePod(
      pod({
        name: "agent-1",
        namespace: "kube-system",
        cpu: "1",
        owner,
        nodeName: "n",
        spec: { affinity: tied },
      }),
    );
    expect(requests()).toEqual({ cpu: "1", memory: "128Mi" });
    expect(state.daemonPods()[0]?.spec.affinity).toBe(undefined);
    expect(state.daemonPods()[0]?.spec.nodeName).toBe(undefined);
  });

  it("plans a DaemonSet by the newest of its pods, and before there is one by its template", () => {
    const state = createClusterState();
    const limits = { limits: { cpu: "200m" } };
    const spec = {
      containers: [{ name: "main", resources: limits }],
      initContainers: [{ name: "mesh", restartPolicy: "Always" as const, resources: limits }],
    };
    state.updateDaemonSet({
      metadata: { name: "agent", namespace: "kube-system" },
      spec: { selector: {}, template: { spec } },
    });
    const daemon = () => state.daemonPods()[0]?.spec;
    expect(daemon()?.initContainers?.[0]?.resources?.requests).toEqual({ cpu: "200m" });
    for (const [name, day] of [
      ["a", "02"],
      ["b", "03"],
      ["c", "01"],
    ] as const) {
      const one = pod({
        name,
        namespace: "kube-system",
        cpu: `${Number(day)}`,
        owner: { kind: "DaemonSet", name: "agent" },
        nodeName: "n",
      });
      const creationTimestamp = `2026-01-${day}T00:00:00Z`;
      state.updatePod({ ...one, metadata: { ...one.metadata, creationTimestamp } });
    }
    expect(daemon()?.containers[0]?.resources?.requests?.["cpu"]).toBe("3");
  });

  it("catches up in steps, with the same result as all at once", () => {
    const [slow, quick] = [createClusterState(), createClusterState()];
    for (const state of [slow, quick])
      for (let at = 0; at < 200; at++) state.updateNode(node({ name: `n-${at}` }));
    let steps = 0;
    for (const _ of slow.catchUp()) steps++;
    expect(steps).toBe(3);
    expect(slow.nodes()).toEqual(quick.nodes());
    expect([...slow.catchUp()]).toEqual([]);
  });

  it("returns the same pool usage when pods change, until a node changes", () => {
    const state = createClusterState();
    state.updateClaim(nodeClaim({ name: "a", status: { providerID: "test://a" } }));
    state.updateNode(node({ name: "a", labels: INITIALIZED }));
    const usage = state.poolUsage("nodepool/default");
    state.updatePod(pod({ name: "p", nodeName: "a" }));
    expect(state.poolUsage("nodepool/default")).toBe(usage);
    state.deleteNode("a");
    expect(state.poolUsage("nodepool/default")).not.toBe(usage);
  });

  it("includes changes made while the usage of a large cluster is summed", () => {
    const state = createClusterState();
    state.updateClaim(nodeClaim({ name: "a", status: { providerID: "test://a" } }));
    state.updateNode(node({ name: "a", labels: INITIALIZED }));
    for (let at = 0; at < 4_200; at++) state.updateNode(node({ name: `n-${at}` }));
    let isMarked = false;
    for (const _ of state.catchUp()) {
      isMarked = !isMarked;
      if (isMarked) state.markForDeletion("a");
      else state.unmarkForDeletion("a");
    }
    expect("nodes" in state.poolUsage("nodepool/default")).toBe(!isMarked);
  });
});

import { describe, expect, it } from "vitest";
import type { PodSpec, TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import { pod, pool, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { wishesOf } from "../../provisioning/batch/preferences.ts";
import {
  applyEdits,
  type Edit,
  editedPod,
  editedPool,
  editText,
  type PodEdit,
  type PoolEdit,
  rankOf,
} from "./edits.ts";

const over = (
  topologyKey: string,
  whenUnsatisfiable: TopologySpreadConstraint["whenUnsatisfiable"] = "DoNotSchedule",
) => ({ topologyKey, whenUnsatisfiable, maxSkew: 1, labelSelector: {} });
const on = "pod" as const;
const edited = (spec: Partial<PodSpec>, edit: PodEdit) => editedPod(pod({ spec }), edit).spec;

describe("a pod edit", () => {
  it("drops or loosens the DoNotSchedule spread over a key, and keeps the ScheduleAnyway spread", () => {
    const others = [over("zone", "ScheduleAnyway"), over("rack")];
    const edit = { on, change: "dropRule", rule: "spread", topologyKey: "zone" } as const;
    const spec = edited({ topologySpreadConstraints: [over("zone"), ...others] }, edit);
    expect(spec.topologySpreadConstraints).toEqual(others);
    const loosen = { on, change: "loosen", topologyKey: "zone", field: "maxSkew" } as const;
    const looser = edited(
      { topologySpreadConstraints: [over("zone"), ...others] },
      { ...loosen, from: 1, to: 3 },
    );
    expect(looser.topologySpreadConstraints).toEqual([{ ...over("zone"), maxSkew: 3 }, ...others]);
  });

  it("drops required terms over a topology key, of pod affinity or anti-affinity only", () => {
    const terms = ["zone", "rack"].map((topologyKey) => ({ topologyKey, labelSelector: {} }));
    const rules = { requiredDuringSchedulingIgnoredDuringExecution: terms };
    const affinity = { podAffinity: rules, podAntiAffinity: rules };
    const left = { requiredDuringSchedulingIgnoredDuringExecution: terms.slice(1) };
    const drop = (rule: "affinity" | "antiAffinity") =>
      edited({ affinity }, { on, change: "dropRule", rule, topologyKey: "zone" }).affinity;
    expect(drop("affinity")).toEqual({ ...affinity, podAffinity: left });
    expect(drop("antiAffinity")).toEqual({ ...affinity, podAntiAffinity: left });
  });

  it("changes no pod of the workload that lacks the rule", () => {
    // During a rollout, the old pods of a StatefulSet may lack it.
    const preferred = [{ weight: 1, podAffinityTerm: { topologyKey: "zone" } }];
    const affinity = {
      podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred },
    };
    const edit = { on, change: "dropRule", rule: "affinity", topologyKey: "zone" } as const;
    expect(wishesOf(edited({ affinity }, edit), "Respect", [])).toEqual(
      wishesOf(pod({ spec: { affinity } }).spec, "Respect", []),
    );
  });

  it("drops a key from the node selector and every node affinity term", () => {
    const term = (...keys: readonly string[]) => ({
      matchExpressions: keys.map((key) => ({ key, operator: "Exists" as const })),
    });
    const needing = (...nodeSelectorTerms: readonly object[]) => ({
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    });
    const drop = (affinity?: object) =>
      edited(
        { nodeSelector: { disk: "ssd", arch: "arm64" }, ...(affinity && { affinity }) },
        { on, change: "dropKey", key: "disk" },
      );
    expect(drop()).toMatchObject({ nodeSelector: { arch: "arm64" } });
    // An empty term matches no node. Removing the key from it changes nothing, so the term is dropped.
    const both = needing(term("disk", "arch"), term("arch"), {});
    expect(drop(both).affinity).toEqual(needing(term("arch"), term("arch")));
    expect(drop(needing(term("disk"), term("arch"))).affinity).toEqual({ nodeAffinity: {} });
  });

  it("renames a key in the node selector and every node affinity term", () => {
    const rename = { on, change: "renameKey", key: "kubernetes.io/archh", meant: "arch" } as const;
    const terms = (key: string) => ({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "Exists" as const }] }],
        },
      },
    });
    const spec = edited(
      { nodeSelector: { [rename.key]: "arm64", disk: "ssd" }, affinity: terms(rename.key) },
      rename,
    );
    expect(spec.nodeSelector).toEqual({ arch: "arm64", disk: "ssd" });
    expect(spec.affinity).toEqual(terms("arch"));
  });

  it("adds a toleration, or drops a host port", () => {
    const toleration = { key: "gpu", operator: "Exists", effect: "NoSchedule" } as const;
    const first = { key: "old" };
    const tolerate = { on, change: "tolerate", toleration } as const;
    expect(edited({ tolerations: [first] }, tolerate).tolerations).toEqual([first, toleration]);
    const ports = [80, 81].map((hostPort) => ({ hostPort, containerPort: 1 }));
    const containers = [{ name: "main", ports }];
    const drop = { on, change: "dropHostPort", port: 80, of: ["containers"] } as const;
    const spec = edited({ containers, initContainers: containers }, drop);
    expect([spec.containers[0]?.ports, spec.initContainers?.[0]?.ports]).toEqual([
      ports.slice(1),
      ports.slice(1),
    ]);
    expect("initContainers" in edited({ containers }, drop)).toBe(false);
  });
});

describe("a pool edit", () => {
  const poolEdit = { on: "pool", poolId: "nodepool/default" } as const;
  const allow = (operator: string, values?: readonly string[], value = "5") => {
    const requirement = { key: "k", operator, ...(values && { values }) } as never;
    const other = { key: "other", operator: "In" as const, values: ["x"] };
    const before = pool({ requirements: [requirement, other] });
    const edit = { ...poolEdit, change: "allow", key: "k", value } as const;
    return editedPool(before, edit).requirements.slice(0, -1);
  };

  it("allows one more value, whichever operator excluded it", () => {
    expect(allow("In", ["6"])).toEqual([{ key: "k", operator: "In", values: ["5", "6"] }]);
    expect(allow("In", ["5"])).toEqual([{ key: "k", operator: "In", values: ["5"] }]);
    expect(allow("NotIn", ["5", "6"])).toEqual([{ key: "k", operator: "NotIn", values: ["6"] }]);
    expect(allow("NotIn", ["5"])).toEqual([]);
    expect(allow("Exists")).toEqual([{ key: "k", operator: "Exists" }]);
    expect(allow("DoesNotExist")).toEqual([]);
    expect([allow("Gt", ["5"]), allow("Gt", ["4"]).length]).toEqual([[], 1]);
    expect([allow("Lt", ["5"]), allow("Lt", ["6"]).length]).toEqual([[], 1]);
  });

  it("sets a limit, a label or minValues", () => {
    const requirements = [
      { key: "k", operator: "Exists" as const, minValues: 3 },
      { key: "k", operator: "Exists" as const },
      { key: "o", operator: "Exists" as const, minValues: 3 },
    ];
    const before = pool({ limits: { cpu: 1, memory: 2 }, labels: { a: "b" }, requirements });
    const of = (edit: object) => editedPool(before, { ...poolEdit, ...edit } as PoolEdit);
    const limit = { change: "limit", resource: "cpu", from: 1, to: 4 };
    expect(of(limit).limits).toEqual({ cpu: 4, memory: 2 });
    expect(of({ change: "label", key: "k", value: "v" }).labels).toEqual({ a: "b", k: "v" });
    const fewer = of({ change: "minValues", key: "k", from: 3, to: 1 }).requirements;
    expect(fewer.map(({ minValues }) => minValues)).toEqual([1, undefined, 3]);
  });

  it("changes its own pool only, and a pod edit only the named pods", () => {
    const pools = ["a", "b"].map((name) => poolInput({ name, labels: {} }));
    const pods = ["x", "y"].map((name) => pod({ name }));
    const label = {
      on: "pool",
      poolId: "nodepool/b",
      change: "label",
      key: "k",
      value: "v",
    } as const;
    const tolerate = { on, change: "tolerate", toleration: { key: "t" } } as const;
    const after = applyEdits(schedulingInput({ pools, pods }), new Set(["default/y"]), [
      label,
      tolerate,
    ]);
    expect(after.pools.map((one) => one.pool.labels)).toEqual([{}, { k: "v" }]);
    expect(after.pods.map(({ spec }) => spec.tolerations?.length ?? 0)).toEqual([0, 1]);
  });
});

describe("the text and rank of an edit", () => {
  const toleration = { key: "gpu", operator: "Equal", value: "a", effect: "NoSchedule" } as const;
  const request = {
    on,
    change: "request",
    resource: "cpu",
    container: "main",
    from: 2_000,
  } as const;
  const { container: _, ...ofPod } = request;
  const own = { on: "pool", poolId: "nodepool/default" } as const;
  const loosen = { on, change: "loosen", topologyKey: "zone", field: "maxSkew" } as const;
  const edits: readonly (readonly [Edit, string])[] = [
    [
      { ...own, change: "limit", resource: "cpu", from: 1_000, to: 2_000 },
      "raise spec.limits.cpu of NodePool default from 1 to 2",
    ],
    [{ ...own, change: "allow", key: "k", value: "v" }, "let NodePool default use k v"],
    [
      { ...own, change: "minValues", key: "k", from: 3, to: 1 },
      "lower minValues of k in NodePool default from 3 to 1",
    ],
    [
      { on, change: "tolerate", toleration },
      "add a toleration of taint gpu=a:NoSchedule to the pod",
    ],
    [
      { on, change: "tolerate", toleration: { ...toleration, operator: "Exists" } },
      "add a toleration of taint gpu:NoSchedule to the pod",
    ],
    [
      { ...own, change: "label", key: "k", value: "v" },
      "give nodes of NodePool default the label k=v",
    ],
    [
      { on, change: "dropKey", key: "disk" },
      "drop disk from the pod's node selector and required node affinity",
    ],
    [{ on, change: "dropHostPort", port: 80, of: ["containers"] }, "drop host port 80 of the pod"],
    [
      { ...loosen, from: 1, to: 2 },
      "raise maxSkew of the pod's topology spread over zone from 1 to 2",
    ],
    [
      { ...loosen, field: "minDomains", from: 3, to: 2 },
      "lower minDomains of the pod's topology spread over zone from 3 to 2",
    ],
    [
      { on, change: "dropRule", rule: "spread", topologyKey: "zone" },
      "drop the pod's topology spread over zone",
    ],
    [
      { on, change: "dropRule", rule: "affinity", topologyKey: "zone" },
      "drop the pod's required affinity over zone",
    ],
    [
      { on, change: "dropRule", rule: "antiAffinity", topologyKey: "zone" },
      "drop the pod's required anti-affinity over zone",
    ],
    [{ ...request, to: 1_000 }, "lower the cpu request of container main from 2 to 1"],
    [
      { ...request, isInit: true, to: 1_000 },
      "lower the cpu request of init container main from 2 to 1",
    ],
    [{ ...ofPod, to: 1_000 }, "lower the cpu request of the pod from 2 to 1"],
    [
      { ...request, resource: "nvidia.com/gpu", from: 2, to: 1 },
      "lower the nvidia.com/gpu request and limit of container main from 2 to 1",
    ],
    [{ ...request, to: 0 }, "let container main do without cpu"],
  ];

  it("is one line that names the field and both values", () => {
    for (const [edit, text] of edits) expect(editText(edit, [poolInput()])).toBe(text);
    const alphas = { ...own, poolId: "provisioner/default" };
    const limit = { ...alphas, change: "limit", resource: "cpu", from: 1_000, to: 2_000 } as const;
    expect(editText(limit, [poolInput({ generation: "alpha" })])).toBe(
      "raise spec.limits.resources.cpu of Provisioner default from 1 to 2",
    );
  });

  it("ranks smaller and less invasive changes first", () => {
    const ranks = edits.map(([edit]) => Math.floor(rankOf(edit)));
    expect(ranks).toEqual([1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 9, 9, 10, 10, 10, 10, 160]);
    const limit = { ...own, change: "limit", resource: "cpu", from: 10 } as const;
    const by = (to: number) => rankOf({ ...limit, to });
    expect([by(11) < by(12), by(1_000_000) < 2, by(9) < by(8)]).toEqual([true, true, true]);
    expect(by(21)).toBe(1.5);
  });
});

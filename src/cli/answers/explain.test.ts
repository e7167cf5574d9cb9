import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import { withCondition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { replacementFailed } from "../../controllers/disruption/events.ts";
import type { NodeAnswer } from "../../core/answers/node-answer.ts";
import type { PoolAnswer } from "../../core/answers/pool-answer.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { withBackoff } from "../../core/disruption/failed-pools.ts";
import { BRAKE_CONDITION, brakeConditionMessage } from "../../core/safety/brake-condition.ts";
import { SET_BACK_CONDITION, SET_BACK_MESSAGE } from "../../core/safety/set-back.ts";
import { keepsToSchema, pageSchema } from "../../testing/page-schema.ts";
import {
  SNAPSHOT_AT,
  SNAPSHOT_TYPES,
  snapshotNode,
  snapshotPdb,
  snapshotPod,
  snapshotPool,
  snapshotSparse,
} from "../../testing/snapshots.ts";
import { PLAIN_SCREEN } from "../program/terminal.ts";
import { runExplain } from "./run-explain.ts";

/** Lines stay whole, so that tests see sentences. */
const WIDE = { ...PLAIN_SCREEN, wide: true };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "karpenter-explain-"));
  writeFileSync(join(folder, "types.json"), SNAPSHOT_TYPES);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function ask(
  question: string,
  objects: readonly KubeObject[],
  { output = "text", setting = [] as readonly string[], at = SNAPSHOT_AT } = {},
): Promise<string> {
  const path = join(folder, "cluster.json");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  const said: string[] = [];
  await runExplain(
    question.split(" "),
    {
      filename: [path],
      instanceTypes: join(folder, "types.json"),
      namespace: "shop",
      output: output as "text",
      setting,
      at,
    },
    { out: (text) => said.push(text), err: () => undefined, screen: () => WIDE },
  );
  return said.join("");
}

async function nodeAnswer(
  name: string,
  objects: readonly KubeObject[],
  flags: Parameters<typeof ask>[2] = {},
): Promise<NodeAnswer> {
  return JSON.parse(await ask(`node ${name}`, objects, { output: "json", ...flags }));
}

/** Two nodes: `a` with one pod, and `b` with room for that pod. */
const movable = (options: Parameters<typeof snapshotNode>[1] = {}) => [
  ...snapshotNode("a", options),
  ...snapshotNode("b", { cpu: 8 }),
  snapshotPod("a-0", { node: "a" }),
  snapshotPod("b-0", { node: "b", cpu: "5", app: "other" }),
];

const holdsOf = async (objects: readonly KubeObject[]) =>
  (await nodeAnswer("a", objects)).holds?.map(({ block, by, until, against }) =>
    [
      block,
      by === undefined ? "" : `${by.kind} ${by.name}`,
      until === undefined ? "" : `until ${until}`,
      `(${against.join()})`,
    ]
      .filter((part) => part !== "")
      .join(" "),
  );

/** The node was to be replaced by one at 0.7, but the replacement cost 0.8. */
const MOVE = {
  command: "c-1",
  reason: "Underutilized",
  at: "2026-01-05T11:30:00Z",
  nodes: ["x", "y"],
  priceMicroUsd: 900_000,
  savesMicroUsd: 200_000,
  replacements: 1,
  pods: { one: 2, two: 1 },
};

/** Pods of one ReplicaSet, which were moved once in each of these minutes before noon. */
const WEB_UID = "uid-web";
const ofWeb = (one: KubeObject): KubeObject => {
  const { metadata } = one;
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: WEB_UID, controller: true },
  ];
  return { ...one, metadata: { ...metadata, ownerReferences } };
};
const WEB_MOVES = JSON.stringify(
  [10, 20, 30, 40].map((minute) => ({
    ...MOVE,
    command: `c-${minute}`,
    at: `2026-01-05T11:${minute}:00Z`,
    pods: { [WEB_UID]: 1 },
  })),
);

const JOINED = "2026-01-05T11:45:00Z";
const TAINTED = 'StartupTaint "example.com/agent:NoSchedule" still exists';
const STEPS = [
  { type: "Launched", reason: "Launched", message: "" },
  { type: "Registered", reason: "NodeNotFound", message: "Node not registered with cluster" },
  { type: "Initialized", reason: "StartupTaintsExist", message: TAINTED },
];
/** A pool, and a node that has completed this many of its three start steps. */
const coming = (done: number): KubeObject[] => {
  const [claim, node] = snapshotNode("a") as [NodeClaim, Node];
  const conditions = STEPS.map((one, at) => ({
    ...(at < done
      ? { type: one.type, status: "True" as const }
      : { ...one, status: "Unknown" as const }),
    lastTransitionTime: JOINED,
  }));
  const labels = { ...node.metadata.labels };
  delete labels["karpenter.sh/initialized"];
  const spec = {
    ...node.spec,
    taints: [{ key: "example.com/agent", effect: "NoSchedule" as const }],
  };
  const startupTaints = spec.taints;
  return [
    snapshotPool(),
    {
      ...claim,
      spec: { ...claim.spec, startupTaints },
      status: { ...claim.status, conditions },
    } as KubeObject,
    ...(done < 2 ? [] : [{ ...node, metadata: { ...node.metadata, labels }, spec } as KubeObject]),
  ];
};

describe("karpenter explain node", () => {
  it("says that a node whose pods fit elsewhere is removed next, and how much that saves", async () => {
    const text = await ask("node a", [snapshotPool(), ...movable()]);
    expect(text).toMatchInlineSnapshot(`
      "a (m-4, on-demand, a, $0.2000 an hour) of default runs 1 pod; next: delete a (Underutilized): saves $0.2000 an hour

      Why it is here
        NodeClaim a, created 2026-01-02T00:00:00Z from default: created for pending pods; still running: 1
        pods that waited for it: shop/a-0
        pods now: shop/a-0

      Why this type
        m-4, on-demand, a: $0.2000 an hour; the NodeClaim allowed 3 types
        cheaper types of its pool: 1 not requested at the launch, 2 outside the NodePool's requirements
        m-2 (on-demand, a, $0.1000): possible now, but not requested at the launch
        m-8 (spot, a, $0.1600): not cheaper with karpenter.sh/capacity-type In [on-demand], as the NodePool requires
        m-4 (spot, a, $0.0800): not cheaper with karpenter.sh/capacity-type In [on-demand], as the NodePool requires

      Why it is not removed
        nothing protects it
        marked Consolidatable since 2026-01-02T00:00:00Z
        expires 2026-02-01T00:00:00Z (forceful)

      It would be removed next
        delete a (Underutilized): saves $0.2000 an hour
        - a (m-4, on-demand, $0.2000), pods: shop/a-0
        pods go to: b
        by single-node consolidation, validated again after 15 s
      "
    `);
  });

  it("says what a leaving node waits for, and until when", async () => {
    const until = "2026-01-05T12:20:00Z";
    const gone = movable({
      claimAnnotations: { "karpenter.sh/nodeclaim-termination-timestamp": until },
    }).map((one) =>
      one.metadata.name === "a"
        ? { ...one, metadata: { ...one.metadata, deletionTimestamp: "2026-01-05T11:59:00Z" } }
        : one,
    );
    const text = await ask("nodeclaim.karpenter.sh/a", [
      snapshotPool(),
      ...gone,
      snapshotPdb("web", 0),
    ]);
    expect(text).toContain(
      `runs 1 pod; being deleted since 2026-01-05T11:59:00Z: waiting for eviction: 1 pod (shop/a-0), until ${until}; pdb prevents pod evictions (PodDisruptionBudget=[shop/web]), until ${until}`,
    );
    expect(text).toContain(`pdb prevents pod evictions (PodDisruptionBudget=[shop/web])`);
    expect(text).not.toContain("If nothing kept it");
    const [empty] = (await nodeAnswer("a", gone.slice(0, 4))).holds ?? [];
    expect(empty).toMatchObject({ block: "leaving" });
    expect(empty?.says).toContain("its instance is terminated next");
    expect(empty?.until).toBeUndefined();
    const having = async (condition: { type: string; status: string }, since = SNAPSHOT_AT) => {
      const objects = gone.slice(0, 4).map((one) => {
        const conditions = [{ ...condition, lastTransitionTime: since }];
        const { status } = one as NodeClaim;
        return one.kind === "NodeClaim" ? { ...one, status: { ...status, conditions } } : one;
      });
      return (await nodeAnswer("a", objects)).holds?.[0];
    };
    const held = await having({ type: "VolumesDetached", status: "Unknown" });
    expect(held?.says).toContain("volumes are still attached");
    expect(held?.until).toBe(until);
    const drained = { type: "Drained", status: "True" };
    const soon = await having(drained, "2026-01-05T11:59:30Z");
    expect(soon?.says).toContain("its pods are gone; its instance is terminated next");
    const late = await having(drained, "2026-01-05T11:58:00Z");
    expect(late?.says).toContain(
      "its pods are gone since 2026-01-05T11:58:00Z, but its instance is not terminated yet (see its event FailedTermination",
    );
    expect(late?.until).toBeUndefined();
    const ending = await having({ type: "InstanceTerminating", status: "True" });
    expect(ending?.says).toMatch(/its instance is being terminated since 2026-01-05T12:00:00Z$/);
  });

  it("says how to set the gate that keeps a spot node, for the answer and for the cluster", async () => {
    const objects = [
      snapshotPool({ capacityTypes: ["spot"] }),
      ...snapshotNode("s", { cpu: 16, capacityType: "spot" }),
      snapshotPod("s-0", { node: "s", cpu: "1" }),
    ];
    const text = await ask("node s", objects);
    expect(text).toContain("--setting feature-gates=SpotToSpotConsolidation=true");
    expect(text).toContain("settings.featureGates.spotToSpotConsolidation: true");
  });

  it("describes a repack of several nodes: removed nodes, new nodes, saving", async () => {
    const text = await ask("node a", [snapshotPool(), ...snapshotSparse("abcdef")]);
    expect(text).toContain("replace a, b, c, d, e and 1 more by m-16/on-demand, m-16/on-demand");
    expect(text).toContain("saves $0.8000 an hour");
    expect(text).toContain("  + m-16 of default (on-demand, a, $0.8000), pods: shop/");
    expect(text).toContain("by repack, validated again after 15 s");
    // A refusal to replace `a` alone does not block other commands with `a`.
    expect(text).toContain("nothing protects it");
  });

  it.each([
    [
      "others go first",
      "full",
      "abcdef",
      [],
      "replacing it with 6 other nodes could save at most 37.1 %; other nodes are replaced first",
    ],
    [
      "it would save too little",
      "full",
      "",
      [],
      "replacing it alone could save at most 4.4 %; at least 5 % is required",
    ],
    [
      "no plan is cheap enough",
      "a",
      "a",
      [],
      "repack: on paper, cheaper nodes exist for its pods (up to 37.1 % less), but no plan was found that saves the needed 5 %",
    ],
    ["it is off", "a", "abcdef", ["consolidation-repack=false"], "repack is off"],
  ])("says why repack does not take a node: %s", async (_, name, sparse, setting, says) => {
    const full = [...snapshotNode("full"), snapshotPod("full-0", { node: "full", cpu: "3800m" })];
    const nodes = sparse === "a" ? [] : full;
    const objects = [snapshotPool(), ...snapshotSparse(sparse), ...nodes];
    expect(await ask(`node ${name}`, objects, { setting })).toContain(says);
  });

  it("names everything that blocks the disruption of a node, with the object and when the block ends", async () => {
    const day = { nodes: "0", schedule: "0 9 * * *", duration: "8h" };
    const objects = [
      snapshotPool({ disruption: { budgets: [day], consolidateAfter: "10m" } }),
      ...snapshotNode("a", {
        annotations: { "karpenter.sh/do-not-disrupt": "true" },
        conditions: {},
        lastPodEventAt: "2026-01-05T11:55:00Z",
      }),
      ...snapshotNode("b", { cpu: 8 }),
      snapshotPod("a-0", { node: "a" }),
      snapshotPod("a-1", {
        node: "a",
        app: "batch",
        annotations: { "karpenter.sh/do-not-disrupt": "2h" },
        createdAt: "2026-01-05T11:00:00Z",
      }),
      snapshotPdb("web", 0),
    ];
    expect(await holdsOf(objects)).toEqual([
      "annotation (Underutilized)",
      "pod Pod a-1 until 2026-01-05T13:00:00Z (Underutilized)",
      "pdb PodDisruptionBudget web (Underutilized)",
      "consolidateAfter NodePool default until 2026-01-05T12:05:00Z (Underutilized)",
      "budget NodePool default until 2026-01-05T17:00:00Z (Underutilized)",
    ]);
  });

  it.each([
    ["a pause", { annotations: { "karpenter.sh/disruption-paused": "true" } }, "paused"],
    ["a policy", { disruption: { consolidationPolicy: "WhenEmpty" } }, "policy"],
    ["consolidation that is off", { disruption: { consolidateAfter: "Never" } }, "policy"],
    ["a budget of none", { disruption: { budgets: [{ nodes: "0" }] } }, "budget"],
  ])("names the NodePool whose field blocks disruption: %s", async (_, pool, block) => {
    expect(await holdsOf([snapshotPool(pool), ...movable()])).toEqual([
      `${block} NodePool default (Underutilized)`,
    ]);
  });

  describe("karpenter explain node of a Machine", () => {
    const KEPT = { "karpenter.sh/do-not-consolidate": "true" };
    const older = (object: KubeObject): KubeObject => {
      const text = JSON.stringify(object).replaceAll(
        "karpenter.sh/nodepool",
        "karpenter.sh/provisioner-name",
      );
      const one = JSON.parse(text);
      if (one.kind !== "NodeClaim") return one;
      const machineTemplateRef = { name: "default" };
      const { requirements, resources } = one.spec;
      const spec = { requirements, resources, machineTemplateRef };
      return { ...one, apiVersion: "karpenter.sh/v1alpha5", kind: "Machine", spec };
    };
    const provisioner = (spec: object) =>
      ({
        apiVersion: "karpenter.sh/v1alpha5",
        kind: "Provisioner",
        metadata: { name: "default", uid: "uid-default" },
        spec: { providerRef: { name: "default" }, ...spec },
      }) as KubeObject;
    const used = movable({ annotations: KEPT });
    const empty = used.filter(({ metadata }) => metadata.name !== "a-0");
    const ON = { consolidation: { enabled: true } };

    it.each<[string, object, readonly KubeObject[], readonly string[]]>([
      ["the annotation", ON, used, ["policy (Underutilized)"]],
      [
        "the annotation and the Provisioner",
        {},
        used,
        ["policy (Underutilized)", "policy Provisioner default (Underutilized)"],
      ],
      ["the annotation of an empty one", ON, empty, ["policy (Empty)"]],
      ["of an empty one both", {}, empty, ["policy (Empty)", "policy Provisioner default (Empty)"]],
    ])("names what blocks its disruption: %s", async (_, spec, objects, holds) => {
      expect(await holdsOf([provisioner(spec), ...objects.map(older)])).toEqual(holds);
    });
  });

  it("says until when a replacement node is held off from further disruption", async () => {
    const objects = [
      snapshotPool(),
      ...snapshotNode("a", {
        cpu: 16,
        createdAt: "2026-01-05T11:30:00Z",
        claimAnnotations: {
          "karpenter.sh/replacement-for-command": "c-1",
          "karpenter.sh/disruption-moves": JSON.stringify([MOVE]),
        },
      }),
      snapshotPod("a-0", { node: "a" }),
    ];
    const answer = await nodeAnswer("a", objects);
    expect(answer.origin).toMatchObject({ reason: "replacement", command: "c-1" });
    expect(answer.moves?.map(({ says }) => says)).toEqual([
      "Underutilized 2026-01-05T11:30:00Z: 3 pods moved from x, y, planned to save $0.2000 an hour; it saved $0.1000",
    ]);
    expect(answer.holds).toMatchObject([{ block: "restraint", until: "2026-01-05T12:30:00Z" }]);
    expect(answer.next).toEqual([]);
  });

  it.each(["Drifted", "Expired"])(
    "says why a node with condition %s is not disrupted, and until when",
    async (condition) => {
      const SINCE = "2026-01-05T11:00:00Z";
      const claimAnnotations = { "karpenter.sh/disruption-moves": WEB_MOVES };
      const marked = { conditions: { [condition]: SINCE }, claimAnnotations };
      const often = [
        snapshotPool(),
        ...snapshotNode("a", marked),
        ofWeb(snapshotPod("a-0", { node: "a" })),
      ];
      const [held] =
        (await nodeAnswer("a", often)).holds?.filter(({ block }) => block === "restraint") ?? [];
      expect(held).toEqual({
        block: "restraint",
        says: "Pods of ReplicaSet shop/web were moved 4 times within the hour; the limit is 4",
        until: "2026-01-05T12:10:00Z",
        against: [condition],
      });
      const nowhere = [
        snapshotPool({ limits: { cpu: "0" } }),
        ...snapshotNode("a", { conditions: marked.conditions }),
        snapshotPod("a-0", { node: "a" }),
      ];
      const [homeless] = (await nodeAnswer("a", nowhere)).holds ?? [];
      expect(homeless).toMatchObject({ block: "noPlace", against: [condition] });
    },
  );

  it("says when the block on a replacement ends, and ignores blocks that would apply later", async () => {
    const held = async (objects: readonly KubeObject[], setting: readonly string[] = []) => {
      const text = await ask("node a", [snapshotPool(), ...objects], { output: "json", setting });
      return JSON.parse(text).holds;
    };
    const claimAnnotations = { "karpenter.sh/disruption-moves": WEB_MOVES };
    const pod = ofWeb(snapshotPod("a-0", { node: "a" }));
    // The block "saves too little" lasts even after the end of the hold-off on the node's pods.
    const [small] = await held(
      [...snapshotNode("a", { cpu: 16, claimAnnotations }), pod],
      ["consolidation-min-savings=99"],
    );
    expect(small).toMatchObject({ block: "restraint" });
    expect(small.says).toContain("cheaper by 99%");
    expect(small.until).toBeUndefined();
    // The hold-off only prevents replacements. This node would be deleted without one, once its pods may be moved
    // again.
    const [often] = await held([
      ...snapshotNode("a", {
        createdAt: "2026-01-05T11:30:00Z",
        claimAnnotations: { ...claimAnnotations, "karpenter.sh/replacement-for-command": "c-30" },
      }),
      ...snapshotNode("b", { cpu: 8 }),
      pod,
      snapshotPod("b-0", { node: "b", cpu: "5", app: "other" }),
    ]);
    expect(often).toMatchObject({ block: "restraint", until: "2026-01-05T12:10:00Z" });
    expect(often.says).toContain("moved 4 times");
  });

  it("says what ruled out each cheaper instance type", async () => {
    const { type } = await nodeAnswer("a", [
      snapshotPool(),
      ...snapshotNode("a", { cpu: 16, requests: { cpu: "3", pods: "2" }, asked: [8, 16] }),
      snapshotPod("a-0", { node: "a", cpu: "5" }),
    ]);
    expect(type).toMatchObject({
      instanceType: "m-16",
      priceMicroUsdPerHour: 800_000,
      askedFor: 2,
      cheaper: { nodePool: 1, other: 1, pods: 1, resources: 1 },
    });
    expect(type?.nearest.map(({ instanceType, says }) => `${instanceType}: ${says}`)).toEqual([
      "m-8: Karpenter requested this type too; the cloud launched another",
      "m-4: its pods now use 5 of cpu; this type has 3900m",
      "m-2: the NodeClaim requests 3 of cpu; this type has 1900m",
      "m-16: not cheaper with karpenter.sh/capacity-type In [on-demand], as the NodePool requires",
    ]);
  });

  it("names resources of which a node has less than its claim promised", async () => {
    const [claim, node] = snapshotNode("a") as [KubeObject, KubeObject & { status: object }];
    const small = { ...node, status: { ...node.status, capacity: { cpu: "3", pods: "110" } } };
    const issue = "expected 4 of resource cpu, but found 3 (75.0% of expected)";
    const text = await ask("nodeclaim a", [snapshotPool(), claim, small]);
    expect(text).toContain(`Not as promised\n  ${issue}\n`);
    const { inconsistencies } = await nodeAnswer("a", [snapshotPool(), claim, small]);
    expect(inconsistencies).toEqual([issue]);
    await keepsTo("node a", [snapshotPool(), claim, small]);
  });

  it("says what a node that is not initialized waits for, and when its claim times out", async () => {
    const holds = async (objects: readonly KubeObject[], setting: readonly string[] = []) => {
      const text = await ask("nodeclaim a", objects, { output: "json", setting });
      const { holds = [] } = JSON.parse(text) as NodeAnswer;
      return holds
        .filter(({ block }) => block === "notInitialized" || block === "noNode")
        .map(({ says, until }) => [says, until]);
    };
    const registered = `node isn't initialized: ${TAINTED}`;
    const at = "2026-01-05T12:15:00Z";
    expect(await holds(coming(2))).toEqual([
      [`${registered}; deleted if this lasts, not before ${at}`, at],
    ]);
    expect(await holds(coming(2), ["initialization-timeout=0"])).toEqual([[registered, undefined]]);
    expect(await holds([...coming(2), snapshotPod("a-0", { node: "a" })])).toEqual([
      [`${registered}; its pods protect it from being deleted`, undefined],
    ]);
    const parked = coming(2).map((one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { "karpenter.sh/do-not-disrupt": "true" } },
    }));
    expect(await holds(parked)).toEqual([
      [`${registered}; karpenter.sh/do-not-disrupt protects it from being deleted`, undefined],
    ]);
    expect(await holds(coming(1))).toContainEqual([
      "nodeclaim does not have an associated node: Node not registered with cluster; deleted at 2026-01-05T12:00:00Z if this lasts",
      "2026-01-05T12:00:00Z",
    ]);
    expect(await ask("node a", coming(2))).toContain(`deleted if this lasts, not before ${at}`);
    await keepsTo("node a", coming(2));
  });

  it("names the budgets that node repair respects, if repair is on", async () => {
    const objects = [snapshotPool(), ...snapshotNode("a")];
    const reasonsOf = async (gate: boolean) => {
      const setting = [`feature-gates=NodeRepair=${gate}`];
      const text = await ask("nodepool default", objects, { output: "json", setting });
      const { disruptions } = JSON.parse(text) as { disruptions: { reason: string }[] };
      return disruptions.map(({ reason }) => reason);
    };
    expect(await reasonsOf(true)).toEqual(["Empty", "Drifted", "Underutilized", "Unhealthy"]);
    expect(await reasonsOf(false)).toEqual(["Empty", "Drifted", "Underutilized"]);
  });

  it("says when node repair ends a broken node, and what blocks repair", async () => {
    const silent = (name: string): KubeObject[] =>
      snapshotNode(name).map((one) => {
        const lastTransitionTime = "2026-01-05T11:50:00Z";
        const conditions = [{ type: "Ready", status: "Unknown", lastTransitionTime }];
        const { status } = one as Node;
        return one.kind === "Node" ? { ...one, status: { ...status, conditions } } : one;
      });
    const others = ["b", "c"].flatMap((name) => snapshotNode(name));
    const repairOf = async (objects: readonly KubeObject[], gates: string) => {
      const all = [snapshotPool(), ...silent("a"), ...objects, snapshotPod("a-0", { node: "a" })];
      const setting = [`feature-gates=NodeRepair=${gates}`];
      return JSON.parse(await ask("node a", all, { output: "json", setting })).repair;
    };
    expect(await repairOf(others, "true")).toEqual({
      says: "Ready is Unknown since 2026-01-05T11:50:00Z: node repair replaces it at 2026-01-05T12:20:00Z, if the disruption budgets for Unhealthy allow it, with 10m0s for its drain",
      condition: "Ready",
      status: "Unknown",
      since: "2026-01-05T11:50:00Z",
      due: "2026-01-05T12:20:00Z",
      action: "ReplaceNode",
      heldBack: false,
    });
    expect((await repairOf(others, "false")).says).toContain("off (feature gate NodeRepair)");
    expect((await repairOf([...others, ...silent("d")], "true")).says).toContain(
      "due 2026-01-05T12:20:00Z, waits while more than 20 % of the nodes are unhealthy (2 of 4)",
    );
  });

  it("says that a node is not Karpenter's, and lists known nodes for an unknown name", async () => {
    const [, node] = snapshotNode("own");
    const objects = [snapshotPool(), node as KubeObject];
    expect(await ask("node own", objects)).toContain("own has no NodeClaim");
    await expect(ask("node nowhere", objects)).rejects.toThrow(
      "there is no Node nowhere; known: own",
    );
    await expect(ask("service x", objects)).rejects.toThrow("wanted one of node, nodeclaim");
    await expect(ask("nod x", objects)).rejects.toThrow("did you mean node?");
    await expect(ask("node a", objects, { setting: ["no-such=1"] })).rejects.toThrow(
      "the controller has no flag --no-such; karpenter controller --help lists them",
    );
    const setting = ["consolidaton-repack=false"];
    await expect(ask("node a", objects, { setting })).rejects.toThrow(
      "the controller has no flag --consolidaton-repack; did you mean consolidation-repack?",
    );
  });

  it("reads the nominations of pending pods from their events", async () => {
    const nomination = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "late.1", namespace: "shop" },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "late" },
      reason: "Nominated",
      message: "Pod should schedule on: nodeclaim/a, node/a",
      type: "Normal",
      lastTimestamp: "2026-01-05T11:59:50Z",
    } as KubeObject;
    const objects = [snapshotPool(), ...movable(), nomination];
    expect(await holdsOf([...objects, snapshotPod("late")])).toEqual([
      "nominated until 2026-01-05T12:00:10Z (Underutilized)",
    ]);
    expect(await holdsOf([...objects, snapshotPod("late", { node: "b" })])).toEqual([]);
  });

  it("says for what a drifted node waits, from the events of its Node and its NodeClaim", async () => {
    const event = (kind: string, reason: string, message: string, at: string) =>
      ({
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: `a.${reason}${kind}${at}`.toLowerCase(), namespace: "default" },
        involvedObject: { kind, name: "a" },
        reason,
        message,
        lastTimestamp: `2026-01-05T11:${at}:00Z`,
      }) as KubeObject;
    const objects = [
      ...[snapshotPool(), ...snapshotNode("a"), snapshotPod("a-0", { node: "a" })],
      event("NodeClaim", "DriftUnproven", "EC2 does not answer", "50"),
      event("NodeClaim", "DriftUnproven", "EC2 contradicts itself", "55"),
      event("Node", "EndHeld", "a view is not current", "56"),
      event("Pod", "EndHeld", "of a pod", "57"),
    ];
    expect((await nodeAnswer("a", objects)).waits).toEqual([
      "EC2 contradicts itself (2026-01-05T11:55:00Z)",
      "a view is not current (2026-01-05T11:56:00Z)",
    ]);
    const text = await ask("nodeclaim a", objects);
    expect(text).toContain("a view is not current (2026-01-05T11:56:00Z)");
    expect(text).not.toContain("nothing protects it");
  });

  it("says that a NodePool gets no replacements after failed ones, and until when", async () => {
    const until = "2026-01-05T12:04:00Z";
    const conditions = { Drifted: "2026-01-05T11:00:00Z" };
    const nodes = [...snapshotNode("a", { conditions }), snapshotPod("a-0", { node: "a" })];
    const waiting = withBackoff(snapshotPool(), { failures: 3, untilMs: Date.parse(until) });
    const before = await nodeAnswer("a", [snapshotPool(), ...nodes]);
    expect(before.removal?.reason).toBe("Drifted");
    const now = await nodeAnswer("a", [waiting, ...nodes]);
    expect(now.removal).toBeUndefined();
    expect(now.next).toEqual([]);
    expect(now.holds).toContainEqual(
      expect.objectContaining({ block: "backingOff", until, against: ["Drifted"] }),
    );
    const after = await ask("node a", [waiting, ...nodes], { at: until });
    expect(after).toContain("It would be removed next");
  });

  it("says that disruption is paused because the API server's versions went back, and the remedy", async () => {
    const shown = {
      type: SET_BACK_CONDITION,
      status: "True" as const,
      message: `${SET_BACK_MESSAGE} Kinds: Node.`,
    };
    const pool = withCondition(snapshotPool(), shown, Date.parse("2026-01-05T11:40:00Z"));
    for (const question of ["node a", "nodepool default"]) {
      const text = await ask(question, [pool, ...movable()]);
      expect(text).toContain("as after a restore of etcd");
      expect(text).toContain("kubectl rollout restart deployment karpenter");
    }
  });

  it("says that the brake is on: since when, why, until when, and how to release it", async () => {
    const since = "2026-01-05T11:40:00Z";
    const until = "2026-01-05T12:40:00Z";
    const why = "More than 5 of 60 nodes would end within 10m.";
    const braked = (releasedAt?: string) => {
      const pool = snapshotPool();
      const annotations =
        releasedAt === undefined ? {} : { "karpenter.sh/involuntary-ends-released": releasedAt };
      const shown = {
        type: BRAKE_CONDITION,
        status: "True" as const,
        message: brakeConditionMessage(why, "NodePool", "default"),
      };
      const on = withCondition(pool, shown, Date.parse(since));
      return { ...on, metadata: { ...on.metadata, annotations } };
    };
    const objects = [braked(), ...movable()];
    const expected = { since, until, why, release: expect.stringContaining("nodepool default") };
    expect((await nodeAnswer("a", objects)).brake).toMatchObject(expected);
    for (const question of ["node a", "nodepool default"]) {
      await keepsTo(question, objects);
      const text = await ask(question, objects);
      expect(text).toContain(`the brake is on since ${since}, until ${until}`);
      expect(text).toContain(why);
      expect(text).toContain("karpenter.sh/involuntary-ends-released=");
    }
    const brakeAt = async (pool: KubeObject, at = SNAPSHOT_AT) =>
      (await nodeAnswer("a", [pool, ...movable()], { at })).brake;
    expect(await brakeAt(braked("2026-01-05T11:39:59Z"))).toMatchObject(expected);
    expect(await brakeAt(braked(since))).toBeUndefined();
    expect(await brakeAt(braked(), until)).toBeUndefined();
    expect(await brakeAt(snapshotPool())).toBeUndefined();
  });

  it("says the same about nodes of a static NodePool", async () => {
    const until = "2026-01-05T12:04:00Z";
    const conditions = { Drifted: "2026-01-05T11:00:00Z" };
    const waiting = withBackoff(snapshotPool({ replicas: 1 }), {
      failures: 3,
      untilMs: Date.parse(until),
    });
    const setting = ["feature-gates=StaticCapacity=true"];
    const objects = [waiting, ...snapshotNode("a", { conditions })];
    const answer = await nodeAnswer("a", objects, { setting });
    expect(answer.next).toEqual([]);
    expect(answer.holds).toContainEqual(
      expect.objectContaining({ block: "backingOff", until, against: ["Drifted"] }),
    );
    const later = await nodeAnswer("a", objects, { setting, at: until });
    expect(later.removal?.reason).toBe("Drifted");
    expect((later.holds ?? []).map(({ block }) => block)).not.toContain("backingOff");
  });

  it("ignores the event of a failed replacement when the back-off ended early", async () => {
    const conditions = { Drifted: "2026-01-05T11:00:00Z" };
    const [claim, node] = snapshotNode("a", { conditions });
    const candidate = { claim, node: { node }, generation: "v1" } as unknown as Candidate;
    const wait = new Map([["nodepool/default", Date.parse("2026-01-05T12:04:00Z")]]);
    const events = replacementFailed([candidate], wait).map(
      ({ reason, message, object }, index) => ({
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: `a.${index}`, namespace: "default" },
        involvedObject: { kind: object.kind, name: object.metadata.name },
        reason,
        message,
      }),
    );
    expect(events).toHaveLength(2);
    const nodes = [...snapshotNode("a", { conditions }), snapshotPod("a-0", { node: "a" })];
    const objects = [snapshotPool(), ...nodes, ...(events as readonly KubeObject[])];
    expect((await nodeAnswer("a", objects)).removal?.reason).toBe("Drifted");
  });

  it("applies the settings of the controller", async () => {
    const objects = [snapshotPool(), ...movable()];
    const text = await ask("nodeclaim/a", objects, { setting: ["pause-disruption=true"] });
    expect(text).toContain("voluntary disruption is paused by the setting pause-disruption");
  });
});

describe("karpenter explain if expiration respects budgets", () => {
  it("says that expired v1 nodes are replaced, and when budgets allow that", async () => {
    const setting = ["expiration-respects-budgets=true"];
    const pool = snapshotPool({
      disruption: { budgets: [{ nodes: "0" }] },
    });
    const asked = { output: "json", setting };
    const node = JSON.parse(await ask("node a", [pool, ...movable()], asked));
    expect(node.expires.mode).toBe("voluntary");
    const { disruptions } = JSON.parse(await ask("nodepool default", [pool, ...movable()], asked));
    expect(disruptions).toContainEqual(expect.objectContaining({ reason: "Expired", allowed: 0 }));
  });
});

describe("karpenter explain nodepool", () => {
  it("shows a repack of several nodes as the next command", async () => {
    const text = await ask("nodepool default", [snapshotPool(), ...snapshotSparse("abcdef")]);
    expect(text).toMatch(
      /Next command for this NodePool\n {2}replace a, b, c, d, e and 1 more by m-16/,
    );
    expect(text).toContain("by repack, validated again after 15 s");
  });

  it("says until when a NodePool is not repacked, because its last repack saved too little", async () => {
    const outcome = {
      at: "2026-01-05T11:30:00Z",
      until: "2026-01-05T11:15:00Z",
      predictedMicroUsd: 400_000,
      realisedMicroUsd: -100_000,
      overrun: 0.25,
      failures: 1,
    };
    const annotations = { "karpenter.sh/repack-outcome": JSON.stringify(outcome) };
    const objects = [snapshotPool({ annotations }), ...snapshotSparse("abcdef")];
    const text = await ask("nodepool default", objects);
    expect(text).toContain(
      "repack: the last moves of several nodes saved $-0.1000 of $0.4000 an hour; not repacked until 2026-01-05T12:30:00Z; the next must save enough even if what comes costs 25.0 % more than planned",
    );
    expect(text).not.toContain("by repack");
    await keepsTo("nodepool default", objects);
    const at = "2026-01-05T12:31:00Z";
    expect(await ask("nodepool default", objects, { at })).toContain("by repack");
  });

  it("without a name lists all NodePools, one row each", async () => {
    const objects = [
      snapshotPool({ limits: { cpu: "40" } }),
      { ...snapshotPool(), metadata: { name: "idle", uid: "idle" } } as KubeObject,
      ...snapshotSparse("ab"),
    ];
    const text = await ask("nodepool", objects);
    const rows = text.split("\n").map((line) => line.trim().split(/ {2,}/));
    expect(rows.slice(0, 3)).toEqual([
      ["NODEPOOL", "READY", "NODES", "$/HOUR", "LIMITS", "NEXT DISRUPTION"],
      ["default", "yes", "2", "$0.8000", expect.stringMatching(/^cpu \d+%$/), "allowed now"],
      ["idle", "yes", "0", "$0.0000", "none", "no nodes"],
    ]);
    const list = JSON.parse(await ask("nodepools", objects, { output: "json" }));
    expect(list.kind).toBe("NodePoolList");
    for (const one of list.items)
      keepsToSchema(pageSchema("explain", "nodepool"), one, { says: 1 });
    expect(await ask("nodepool", [])).toMatch(/^there is no NodePool\n/);
  });

  it("takes a NodePool without a status as ready, and not one whose status says otherwise", async () => {
    const { status: _, ...bare } = snapshotPool() as KubeObject & { readonly status?: unknown };
    const notReady = { type: "Ready", status: "False", reason: "NodeClassNotReady" };
    const named = (name: string, status: object) => ({
      ...bare,
      metadata: { name, uid: name },
      ...status,
    });
    const objects = [
      named("a", {}),
      named("b", { spec: { ...(bare as { spec?: object }).spec, replicas: 1 } }),
      named("c", { status: { conditions: [notReady] } }),
    ] as KubeObject[];
    const { items } = JSON.parse(await ask("nodepools", objects, { output: "json" }));
    expect(items.map(({ ready }: { readonly ready: boolean }) => ready)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("says that a NodePool that is not ready launches nothing", async () => {
    const objects = [snapshotPool({ limits: { nodes: "0" } }), ...snapshotSparse("ab")];
    const text = await ask("nodepool default", objects);
    expect(text).toMatch(
      /^NodePool default can launch no further node: spec\.limits\.nodes is 0; it has 2 nodes for \S+ an hour; a disruption/,
    );
    expect(text).toContain("nodes: 2, and the limit allows none\n");
    expect(text).not.toContain("(100%)");
  });

  it("suggests names with the same beginning, or the nearest name, for an unknown object", async () => {
    const objects = [snapshotPool(), ...snapshotSparse("ab")];
    await expect(ask("nodepool defualt", objects)).rejects.toThrow("did you mean default?");
    await expect(ask("nodepool def", objects)).rejects.toThrow(
      "there is no NodePool def; names that begin so: default",
    );
    await expect(ask("pod b", objects)).rejects.toThrow(
      /there is no Pod shop\/b; names that begin so: shop\/b-0/,
    );
    await expect(ask("pod nothing", objects)).rejects.toThrow(
      /there is no Pod shop\/nothing; known: shop\/a-0, shop\/b-0/,
    );
  });

  it("says that Karpenter ignores a NodePool of another provider, and why its pods are pending", async () => {
    const auto = async (question: string) => {
      const said: string[] = [];
      await runExplain(
        question.split(" "),
        { filename: ["test/fixtures/eks-auto-mode.yaml"], output: "text", namespace: "default" },
        { out: (text) => said.push(text), err: () => {}, screen: () => WIDE },
      );
      return said.join("");
    };
    expect(await auto("nodepool auto-gpu")).toMatch(
      /^NodePool auto-gpu has 0 nodes .*; it is left to another provider, which serves its node class \(NodeClass of eks\.amazonaws\.com\)\n/,
    );
    // The list must not say "paused": nobody paused this NodePool, and nothing resumes it.
    const listed = await auto("nodepools");
    expect(listed).toMatch(/^ *auto-gpu +\w+ +0 .* other provider$/m);
    expect(listed).not.toContain("paused");
    const waits =
      'default/db has no place: no dynamic nodepools found: none is ours: nodepool "auto-gpu"';
    expect(await auto("pod db")).toContain(waits);
    // The answer names the pod as other output of this program does.
    expect(await auto("pod default/db")).toContain(waits);
  });

  it("shows usage, budgets, the next allowed disruption, and the next command", async () => {
    const night = {
      nodes: "0",
      schedule: "CRON_TZ=Europe/Zurich 0 8 * * *",
      duration: "10h",
      reasons: ["Underutilized"],
    };
    const objects = [
      snapshotPool({ disruption: { budgets: [night, { nodes: "50%" }] }, limits: { cpu: "40" } }),
      ...movable(),
    ];
    expect(await ask("nodepool default", objects)).toMatchInlineSnapshot(`
      "NodePool default has 2 nodes for $0.6000 an hour; a disruption is allowed now

      Use
        2 nodes, 0 leaving, $0.6000 an hour
        cpu: 12 of 40 (30%)

      Disruption
        WhenEmptyOrUnderutilized, consolidateAfter 0s, expireAfter 720h0m0s
        budget 0 (Underutilized; CRON_TZ=Europe/Zurich 0 8 * * * for 10h): active, until 2026-01-05T17:00:00Z
        budget 50% (all reasons; always): active
        Empty: budgets allow 1 of 2 nodes to be disrupted now
        Drifted: budgets allow 1 of 2 nodes to be disrupted now
        Underutilized: budgets allow no disruption until 2026-01-05T17:00:00Z
        next allowed disruption: 2026-01-05T12:00:00Z

      What protects its nodes
        2 nodes: disruption budgets allow no disruption now: a, b

      Next command for this NodePool
        none: no node would be disrupted now
      "
    `);
    const large = [snapshotPool({ limits: { cpu: "4000" } }), ...movable()];
    expect(await ask("nodepool default", large)).toContain("cpu: 12 of 4,000 (less than 1%)\n");
    expect(await ask("nodepool default", objects, { at: "2026-01-05T18:00:00Z" })).toContain(
      "delete a (Underutilized): saves $0.2000 an hour",
    );
  });
});

describe("karpenter explain nodepool with NodeOverlays", () => {
  it.each([
    ["as the cloud has it without the gate", [], "$0.6000"],
    ["as they make it with the gate", ["feature-gates=NodeOverlay=true"], "$18.0000"],
  ])("computes the price of a node with %s", async (_, setting, price) => {
    const overlay = {
      apiVersion: "karpenter.sh/v1alpha1",
      kind: "NodeOverlay",
      metadata: { name: "dear" },
      spec: { requirements: [], price: "9" },
    } as KubeObject;
    const text = await ask("nodepool default", [overlay, snapshotPool(), ...movable()], {
      setting,
    });
    expect(text).toContain(`NodePool default has 2 nodes for ${price} an hour`);
  });
});

describe("karpenter explain nodepool while nodes are leaving", () => {
  it.each([
    ["1", "budgets are used up by 1 node"],
    ["9", "the cluster's budgets (disruption-budgets) are used up by 3 nodes"],
  ])(
    "says that leaving nodes use up the budget of their own NodePool: a budget of %s",
    async (nodes, says) => {
      const leaving = ["c", "d", "e"]
        .flatMap((name) => snapshotNode(name, { pool: name === "c" ? "default" : "other" }))
        .map((one) => ({
          ...one,
          metadata: { ...one.metadata, deletionTimestamp: SNAPSHOT_AT },
        }));
      const pools = [
        snapshotPool({ disruption: { budgets: [{ nodes }] } }),
        snapshotPool({ name: "other" }),
      ];
      const setting = ['disruption-budgets=[{"nodes":"3"}]'];
      const text = await ask("nodepool default", [...pools, ...movable(), ...leaving], { setting });
      expect(text).toContain(`Empty: ${says}`);
    },
  );
});

describe("karpenter explain nodepool", () => {
  it.each([
    ["WhenEmpty", "0s", ["of 2", "of 2", "only empty nodes go (policy WhenEmpty)"]],
    ["WhenEmpty", "Never", ["is disabled", "of 2", "is disabled"]],
    ["WhenEmptyOrUnderutilized", "0s", ["of 2", "of 2", "of 2"]],
  ])(
    "allows no disruption that the consolidation policy rules out: %s after %s",
    async (policy, after, says) => {
      const disruption = { consolidationPolicy: policy, consolidateAfter: after };
      const pool = snapshotPool({ disruption });
      const text = await ask("nodepool default", [pool, ...movable()], { output: "json" });
      const { disruptions } = JSON.parse(text) as PoolAnswer;
      expect(disruptions.map(({ reason }) => reason)).toEqual([
        "Empty",
        "Drifted",
        "Underutilized",
      ]);
      for (const [at, part] of says.entries()) {
        const isOpen = part === "of 2";
        expect(disruptions[at]?.says).toContain(part);
        expect(disruptions[at]?.allowed).toBe(isOpen ? 2 : 0);
        expect(disruptions[at]?.nextAllowedDisruption !== undefined).toBe(isOpen);
      }
    },
  );
});

describe("karpenter explain nodepool outside the window of a budget", () => {
  it("reports no more allowed disruptions than there are nodes", async () => {
    const day = { nodes: "0", schedule: "0 19 * * *", duration: "1h" };
    const pool = snapshotPool({ disruption: { budgets: [day] } });
    const text = await ask("nodepool default", [pool, ...movable()]);
    expect(text).toContain("Empty: budgets allow 2 of 2 nodes to be disrupted now");
  });
});

describe("karpenter explain nodepool without nodes", () => {
  it("says that there are no nodes, and when a first node could be disrupted", async () => {
    const day = { nodes: "0", schedule: "0 9 * * *", duration: "8h" };
    const text = await ask("nodepool idle", [
      snapshotPool({ name: "idle", replicas: 0, disruption: { budgets: [day, { nodes: "10%" }] } }),
    ]);
    expect(text).toContain("NodePool idle has 0 nodes for $0.0000 an hour");
    expect(text).toContain("next allowed disruption: 2026-01-05T17:00:00Z");
  });
});

describe("karpenter explain pod", () => {
  it("says what blocks the eviction of a running pod, and where the pod would go", async () => {
    const objects = [snapshotPool(), ...movable()];
    expect(await ask("pod a-0", objects)).toContain(
      "shop/a-0 runs on a; if that node is removed, the pod goes to b",
    );
    expect(await ask("pod a-0", [...objects, snapshotPdb("web", 0)])).toContain(
      "its PodDisruptionBudget allows no disruption now (PodDisruptionBudget shop/web)",
    );
    expect(await ask("pod b-0", objects)).toContain("a new one is launched (m-8, on-demand)");
  });

  it("says why a pod that asks for a move without downtime would be evicted", async () => {
    const asks = { "karpenter.sh/zero-downtime": "true" };
    const asking = snapshotPod("a-1", { node: "a", annotations: asks });
    const objects = [snapshotPool(), ...movable(), asking];
    const answer = "not moved without downtime, though it asks for it: ";
    expect(await ask("pod a-1", objects)).toContain(
      `${answer}Karpenter may not patch Deployments in namespace shop; grant it with the chart's settings.surgeNamespaces (--surge-namespaces)\n`,
    );
    const setting = ["surge-namespaces=shop"];
    expect(await ask("pod a-1", objects, { setting })).toContain(`${answer}no Deployment`);
    expect(await ask("pod a-0", objects)).not.toContain("without downtime");
    await keepsTo("pod a-1", objects);
  });

  it("says why a pod is not planned elsewhere: it is ending, or Karpenter does not own its node", async () => {
    const deletedAt = "2026-01-05T11:59:00Z";
    const leaving = [snapshotPool(), ...snapshotNode("a", { deletedAt })];
    const pod = snapshotPod("a-0", { node: "a" });
    const going = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: deletedAt } };
    expect(await ask("pod a-0", [...leaving, going])).toContain(
      "shop/a-0 runs on a and is being deleted: it wants no other place\n",
    );
    const [claim, node] = snapshotNode("a") as [KubeObject, KubeObject];
    expect(await ask("pod a-0", [claim, node, pod])).toContain(
      "shop/a-0 runs on a, a node whose NodePool default is not there\n",
    );
    const alone = { ...claim, metadata: { ...claim.metadata, labels: {} } };
    expect(await ask("pod a-0", [snapshotPool(), alone, node, pod])).toContain(
      "shop/a-0 runs on a, a node without a NodePool\n",
    );
    expect(await ask("pod a-0", [snapshotPool(), node, pod])).toContain(
      "shop/a-0 runs on a, a node that is not Karpenter's\n",
    );
  });

  it("says what a pending pod's starting node waits for", async () => {
    expect(await ask("pod small", [...coming(2), snapshotPod("small")])).toContain(
      `shop/small waits for a, which is not ready yet: ${TAINTED}; deleted if this lasts, not before 2026-01-05T12:15:00Z\n`,
    );
    expect(await ask("pod small", [...coming(1), snapshotPod("small")])).toContain(
      "shop/small waits for a, which is not ready yet: Node not registered with cluster; deleted at",
    );
  });

  it("says why no node and no NodePool takes a pending pod, and proposes the smallest fix", async () => {
    const waiting = snapshotPod("big", { cpu: "20" });
    const objects = [snapshotPool(), ...movable(), waiting, snapshotPod("small")];
    const text = await ask("po/big", objects);
    expect(text).toContain("shop/big has no place");
    expect(text).toContain("fix: ");
    expect(text).toContain(
      "Why no existing node takes it\n  2 nodes: too little cpu: 20 requested, at most 2900m left (a, b)",
    );
    const condition = { type: "Ready", status: "False", message: "NodeClassReady=False" };
    const idle = { ...snapshotPool({ name: "idle" }), status: { conditions: [condition] } };
    const kept = snapshotPool({
      taints: [{ key: "team", value: "a", effect: "NoSchedule" as const }],
    });
    const meanwhile = await ask("pod two", [kept, snapshotPod("two", { cpu: "2" }), idle]);
    expect(meanwhile).toContain("shop/two has no place while NodePool idle is not ready: ");
    expect(meanwhile).toContain("its status says that it is not ready (NodeClassReady=False)");
    const classGone = {
      type: "NodeClassReady",
      status: "False",
      message: "NodeClass is Terminating",
    };
    const ending = { ...snapshotPool(), status: { conditions: [condition, classGone] } };
    expect(await ask("pod two", [ending, snapshotPod("two", { cpu: "2" })])).toMatch(
      /not\s+ready\s+\(NodeClassReady=False:\s+NodeClass\s+is\s+Terminating:\s+\w+ \w+\)/,
    );
    // The NodePool that is not ready would not place the pod, which is too large for all instance types.
    expect(await ask("pod big", [...objects, idle])).toMatch(/^shop\/big has no place: /);
    // However many NodePools there are, the first line is short, and the fix is the next thing.
    const taints = [{ key: "team", value: "a", effect: "NoSchedule" as const }];
    const others = [1, 2, 3].map((at) => snapshotPool({ name: `other-${at}`, taints }));
    expect(await ask("pod big", [...objects, ...others])).toMatch(
      /^shop\/big has no place: none of 4 NodePools takes it\n\nWhy there is no place\n {2}fix: [\s\S]*other-3: did not tolerate taint/,
    );
    expect(await ask("pod big", [...others, waiting])).toMatch(
      /^shop\/big has no place: none of 3 NodePools takes it: did not tolerate taint \(taint=team=a:NoSchedule\)\n/,
    );
    expect(await ask("pod small", objects)).toContain("there is room for it on");
    expect(await ask("pod new", [snapshotPool(), snapshotPod("new")])).toContain(
      "shop/new waits for a node of default (m-2, on-demand, a)",
    );
  });
});

describe("the reference page of explain", () => {
  it("has a schema that the answers match, without unknown fields", async () => {
    const objects = [
      snapshotPool({
        disruption: { budgets: [{ nodes: "1", schedule: "0 9 * * *", duration: "8h" }] },
        limits: { cpu: "40" },
      }),
      ...movable(),
      snapshotPod("big", { cpu: "20" }),
      snapshotPod("new", { cpu: "7" }),
      snapshotPdb("other", 0),
    ];
    for (const question of ["node a", "node b", "nodepool default", "pod a-0", "pod b-0"])
      await keepsTo(question, objects);
    for (const question of ["pod big", "pod new"]) await keepsTo(question, objects);
  });
});

async function keepsTo(question: string, objects: readonly KubeObject[]): Promise<void> {
  const [kind = ""] = question.split(" ");
  const value = JSON.parse(await ask(question, objects, { output: "json" }));
  keepsToSchema(pageSchema("explain", kind), value, { says: 1 });
}

describe("karpenter explain of room that CapacityBuffers keep", () => {
  const gate = { setting: ["feature-gates=CapacityBuffer=true"] };
  const template = {
    apiVersion: "v1",
    kind: "PodTemplate",
    metadata: { name: "room", namespace: "shop" },
    template: {
      spec: {
        containers: [{ name: "main", image: "pause", resources: { requests: { cpu: "1" } } }],
      },
    },
  };
  const buffer = {
    apiVersion: "autoscaling.x-k8s.io/v1beta1",
    kind: "CapacityBuffer",
    metadata: { name: "spare", namespace: "shop" },
    spec: { podTemplateRef: { name: "room" }, replicas: 2 },
  };
  const objects = [snapshotPool(), ...snapshotNode("a", { cpu: 4 }), template, buffer];

  it("names the room on the node, and does not report the node as empty", async () => {
    const answer = await nodeAnswer("a", objects, gate);
    expect(answer.headroom).toEqual([{ buffer: "shop/spare", pods: 2 }]);
    expect(answer.says).toContain(
      "runs 0 pods and keeps room for 2 pods of CapacityBuffer shop/spare",
    );
    expect(answer.removal).toBeUndefined();
    expect(answer.next.filter(({ decision }) => decision === "delete")).toEqual([]);
    keepsToSchema(pageSchema("explain", "node"), answer, { says: 1 });
    expect(await ask("node a", objects, gate)).toContain(
      "room kept: 2 pods of CapacityBuffer shop/spare",
    );
    expect(await ask("node a", objects, gate)).not.toContain("capacity-buffer:");
  });

  it("reports the node as empty while the feature gate is off, with a note", async () => {
    const answer = await nodeAnswer("a", objects);
    expect(answer.headroom).toBeUndefined();
    expect(answer.removal?.reason).toBe("Empty");
    expect(await ask("node a", objects)).toContain(
      "note: CapacityBuffers have no effect: their feature gate is off (--setting feature-gates=CapacityBuffer=true)",
    );
  });
});

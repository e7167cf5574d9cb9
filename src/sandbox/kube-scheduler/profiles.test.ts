import { describe, expect, it } from "vitest";
import { EVENT } from "../../apis/core/kinds.ts";
import { POD } from "../../apis/core/pod.ts";
import { HOSTNAME, testNode, testPod, ZONE } from "../testing/objects.ts";
import { startParts } from "../testing/parts-cluster.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../testing/snapshots.ts";
import { feasibleNodes } from "./feasible.ts";
import { podInfo } from "./pod-info.ts";
import {
  DEFAULT_PROFILES,
  profileOf,
  schedulerConfigurationProblems,
  schedulerProfiles,
} from "./profiles.ts";
import { scoreNodes } from "./scores.ts";

const HEAD = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };
const HARD_ZONES = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule" } as const;
const SOFT_RACKS = {
  maxSkew: 1,
  topologyKey: "rack",
  whenUnsatisfiable: "ScheduleAnyway",
} as const;

const spreading = (args: object, more: object = {}) => ({
  ...HEAD,
  profiles: [
    { schedulerName: "default-scheduler" },
    {
      schedulerName: "spreading",
      pluginConfig: [{ name: "PodTopologySpread", args }],
      ...more,
    },
  ],
});
const problemOf = (config: unknown) => schedulerConfigurationProblems(config)[0];
const LIST = { defaultingType: "List", defaultConstraints: [HARD_ZONES] };
const PROFILES = schedulerProfiles(spreading(LIST));

describe("a KubeSchedulerConfiguration", () => {
  it("gives a profile for each schedulerName, with its default spread", () => {
    expect(problemOf(spreading(LIST))).toBeUndefined();
    expect(PROFILES).toEqual([
      ...DEFAULT_PROFILES,
      {
        schedulerName: "spreading",
        defaultSpread: { constraints: [HARD_ZONES], isSystem: false },
      },
    ]);
  });

  it("without profiles has the default one, and a single profile may leave its name out", () => {
    expect(problemOf(HEAD)).toBeUndefined();
    expect(schedulerProfiles(HEAD)).toEqual(DEFAULT_PROFILES);
    const unnamed = { ...HEAD, profiles: [{}], clientConnection: { kubeconfig: "x" } };
    expect(problemOf(unnamed)).toBeUndefined();
    expect(schedulerProfiles(unnamed)).toEqual(DEFAULT_PROFILES);
  });

  it("may turn the default spread off by an empty list", () => {
    const [, spread] = schedulerProfiles(spreading({ defaultingType: "List" }));
    expect(spread?.defaultSpread.constraints).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ["another kind", { ...HEAD, kind: "Policy" }, "wanted apiVersion"],
    ["an unknown field", { ...HEAD, profile: [] }, "profile: unknown field"],
    ["extenders, which are not simulated", { ...HEAD, extenders: [] }, "extenders: unknown field"],
    [
      "two profiles of one name",
      { ...HEAD, profiles: [{ schedulerName: "a" }, { schedulerName: "a" }] },
      "profiles[1].schedulerName: a is there already",
    ],
    [
      "one of several profiles without a name",
      { ...HEAD, profiles: [{ schedulerName: "a" }, {}] },
      "profiles[1].schedulerName: wanted a name",
    ],
    [
      "other plugins, whose arguments are not simulated",
      spreading(LIST, { plugins: {} }),
      "profiles[1].plugins: unknown field",
    ],
    [
      "arguments of another plugin",
      { ...HEAD, profiles: [{ pluginConfig: [{ name: "NodeResourcesFit" }] }] },
      "profiles[0].pluginConfig[0].name: the simulated scheduler has arguments for PodTopologySpread only",
    ],
    [
      "constraints beside System defaulting",
      spreading({ defaultConstraints: [HARD_ZONES] }),
      "profiles[1].pluginConfig[0].args.defaultConstraints: they need defaultingType: List",
    ],
    [
      "a constraint with a selector",
      spreading({
        defaultingType: "List",
        defaultConstraints: [{ ...HARD_ZONES, labelSelector: {} }],
      }),
      "profiles[1].pluginConfig[0].args.defaultConstraints[0].labelSelector: leave it out",
    ],
  ])("is refused for %s", (_, config, problem) => {
    expect(problemOf(config)).toContain(problem);
  });
});

describe("the default spread of a profile", () => {
  const NODES = [testNode("a", { zone: "a" }), testNode("b", { zone: "b" })];
  const placed = [testPod("x", { nodeName: "a" }, { app: "web" })];
  const owned = { ...NO_SURROUNDINGS, ownerSelector: () => ({ matchLabels: { app: "web" } }) };
  const fitting = (spec: object, surroundings: typeof owned) => {
    const snapshot = snapshotOf(NODES, placed, { ...surroundings, profile: profileOf(PROFILES) });
    const pod = podInfo(testPod("p", spec, { app: "web" }));
    return feasibleNodes(pod, snapshot).nodes.map(({ name }) => name);
  };

  it("holds for pods that name the profile and have a selector by their owner", () => {
    expect(fitting({ schedulerName: "spreading" }, owned)).toEqual(["b"]);
    expect(fitting({}, owned)).toEqual(["a", "b"]);
    const nobodys = { ...owned, ownerSelector: () => undefined };
    expect(fitting({ schedulerName: "spreading" }, nobodys as never)).toEqual(["a", "b"]);
  });

  it("does not hold for pods with constraints of their own", () => {
    const own = {
      schedulerName: "spreading",
      topologySpreadConstraints: [
        { ...HARD_ZONES, topologyKey: HOSTNAME, whenUnsatisfiable: "ScheduleAnyway" },
      ],
    };
    expect(fitting(own, owned)).toEqual(["a", "b"]);
  });

  it("from a list gives no score to nodes without the label, unlike kube-scheduler's own default", () => {
    const racks = [
      testNode("a", { zone: "a", labels: { rack: "1" } }),
      testNode("b", { zone: "b" }),
    ];
    const profiles = schedulerProfiles(
      spreading({ defaultingType: "List", defaultConstraints: [SOFT_RACKS] }),
    );
    const snapshot = snapshotOf(racks, [], { ...owned, profile: profileOf(profiles) });
    const scores = (schedulerName: string) =>
      scoreNodes(
        podInfo(testPod("p", { schedulerName }, { app: "web" })),
        snapshot.nodes,
        snapshot,
      );
    const [onRack = 0, elsewhere = 0] = scores("spreading");
    expect(onRack - elsewhere).toBe(200);
    const [one, other] = scores("default-scheduler");
    expect(one).toBe(other);
  });
});

describe("the scheduler with two profiles", () => {
  it("binds the pods of both in their own names, and leaves pods of other schedulers alone", async () => {
    const cluster = await startParts({ profiles: PROFILES });
    try {
      cluster.node("a");
      for (const schedulerName of ["default-scheduler", "spreading", "foreign"])
        await cluster.create(POD, testPod(schedulerName, { schedulerName }));
      await cluster.clock.advance(10_000);
      const bound = (await cluster.pods()).filter(({ spec }) => spec.nodeName === "a");
      expect(bound.map(({ metadata }) => metadata.name).sort()).toEqual([
        "default-scheduler",
        "spreading",
      ]);
      const { items } = await cluster.kube.list(EVENT);
      const scheduled = items.filter(({ reason }) => reason === "Scheduled");
      const said = scheduled.map((one) => `${one.source?.component} ${one.involvedObject.name}`);
      expect(said.sort()).toEqual(["default-scheduler default-scheduler", "spreading spreading"]);
    } finally {
      await cluster.stop();
    }
  });
});

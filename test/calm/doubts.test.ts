/**
 * Gives Karpenter false answers about each kind that it watches, or from the cloud: at its start, during a run, and
 * while it has work (doubts.ts). No instance with a running pod may end, and none may be launched without need. `npm
 * run calm` plays all cases, `npm test` those about objects that instances depend on. The last tests, and mutants.ts,
 * prove that harm is seen.
 */
import { describe, expect, it } from "vitest";
import { DoubtStage, doubtsOf, harm, LONG_FAULT_MS, type Misleading } from "./doubts.ts";
import { CLOUD_LIES, LIES, type Lie } from "./lies.ts";

const LONG = process.env["CALM"] === "long";
const EVERYTHING = process.env["CALM"] !== undefined;

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/pods";
const CLAIMS = "/apis/karpenter.sh/v1/nodeclaims";
const POOLS = "/apis/karpenter.sh/v1/nodepools";
const CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
/** Kinds that Karpenter lists at its start. The last test checks this list. */
const WATCHED = [
  "/api/v1/limitranges",
  "/api/v1/namespaces",
  NODES,
  "/api/v1/persistentvolumeclaims",
  "/api/v1/persistentvolumes",
  PODS,
  "/apis/apps/v1/daemonsets",
  "/apis/apps/v1/deployments",
  CLASSES,
  "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates",
  CLAIMS,
  POOLS,
  "/apis/karpenter.sh/v1alpha5/machines",
  "/apis/karpenter.sh/v1alpha5/provisioners",
  "/apis/node.k8s.io/v1/runtimeclasses",
  "/apis/policy/v1/poddisruptionbudgets",
  "/apis/storage.k8s.io/v1/csinodes",
  "/apis/storage.k8s.io/v1/storageclasses",
  "/apis/storage.k8s.io/v1/volumeattachments",
];

/**
 * A kind of false answers and the collections about which they are given, in one cluster. A killed process leaves state
 * behind, so one cluster does not serve for all.
 */
interface Act {
  readonly title: string;
  readonly doubts: readonly Misleading[];
}

function everyAct(): readonly Act[] {
  const acts = new Map<string, Misleading[]>();
  for (const doubt of doubtsOf(WATCHED)) {
    const title = `${doubt.moment}: ${doubt.about}`;
    acts.set(title, [...(acts.get(title) ?? []), doubt]);
  }
  return [...acts].map(([title, doubts]) => ({ title, doubts }));
}

const each = (
  about: string,
  moment: Misleading["moment"],
  lies: readonly Lie[],
): readonly Misleading[] => lies.map((lie) => ({ about, lie, moment }));

/** The clusters of the quick set; each takes a few seconds. */
const QUICK: readonly Act[] = [
  {
    title: "mid-run",
    doubts: [
      ...each(POOLS, "busy", ["another"]),
      ...each(CLAIMS, "mid-run", LIES),
      ...each(NODES, "mid-run", ["short", "stale"]),
      ...each(PODS, "mid-run", ["empty"]),
      ...each(POOLS, "mid-run", ["empty"]),
      ...CLOUD_LIES.map((lie) => ({ about: "cloud", lie, moment: "mid-run" }) as const),
    ],
  },
  // At this point the nodes are older than the registration timeout, and a watch can still deliver old events of
  // their start.
  { title: "at work", doubts: each(CLAIMS, "busy", ["empty", "stale"]) },
  {
    title: "at its start",
    doubts: [...each(CLAIMS, "start", ["unserved", "short"]), ...each(NODES, "start", ["empty"])],
  },
];

/**
 * A pod that does not exist gets a node like any other pod. The node ends again when the pod is gone from the
 * list. To read each pod before its launch would cost one request per pod. No existing node or instance ends.
 */
function costOf({ about, lie, moment }: Misleading): readonly string[] {
  return about === PODS && lie === "another" && moment === "busy"
    ? ["while it lasts: 2 claims are made, 1 are needed"]
    : [];
}

describe("a controller with false readings removes no node with a running pod", () => {
  it.each(EVERYTHING ? everyAct() : QUICK)("$title", { timeout: 900_000 }, async ({ doubts }) => {
    const stage = await DoubtStage.open();
    try {
      for (const doubt of doubts) {
        const said = await stage.play(doubt);
        expect({ doubt, said }).toEqual({ doubt, said: costOf(doubt) });
      }
    } finally {
      await stage.close();
    }
  });

  it.skipIf(!LONG).each([NODES, PODS, CLAIMS, "cloud"])(
    "for as long as timeouts last: %s",
    { timeout: 900_000 },
    async (about) => {
      for (const doubt of doubtsOf(WATCHED).filter((one) => one.about === about)) {
        const stage = await DoubtStage.open();
        const said = await stage.play(doubt, LONG_FAULT_MS);
        await stage.close();
        expect({ doubt, said }).toEqual({ doubt, said: costOf(doubt) });
      }
    },
  );
});

describe("the observer outside the controller", () => {
  it("sees every kind that the controller watches, and each node, claim and pod that ends", async () => {
    const stage = await DoubtStage.open();
    try {
      expect(stage.collections).toEqual(WATCHED);
      const before = await stage.picture();
      expect(harm(before, before)).toEqual([]);
      const [node] = await stage.world.list("Node", "v1", "karpenter.sh/nodepool");
      await stage.world.remove("Node", node?.metadata.name ?? "");
      await stage.world.advance(60_000);
      const said = harm(before, await stage.picture()).join();
      for (const what of ["pods", "nodes", "claims", "instances"])
        expect(said).toContain(
          `1 of ${what === "instances" ? before.instances.length : 6} ${what} end`,
        );
    } finally {
      await stage.close();
    }
  });
});

import { describe, expect, it } from "vitest";
import { toAwsClass } from "../../../apis/hub/aws-class.ts";
import { awsClaim, CLUSTER, ec2NodeClass } from "../../../testing/aws-world.ts";
import { launchTags } from "./tags.ts";

const MINE = {
  clusterUid: undefined,
  tags: { team: "all", owner: "settings" },
  clusterName: CLUSTER,
};
const POOL = {
  labels: { "karpenter.sh/nodepool": "web", "karpenter.sh/provisioner-name": "web" },
};
const BETA = { "compatibility.karpenter.sh/generation": "v1beta1" };
const OWNED = { [`kubernetes.io/cluster/${CLUSTER}`]: "owned" };

const claims = {
  alpha: { ...awsClaim([], { metadata: POOL }), kind: "Machine" },
  beta: awsClaim([], { metadata: { ...POOL, annotations: BETA } }),
  v1: awsClaim([], { metadata: POOL }),
};

describe("tags of launched instances", () => {
  it.each([
    [
      "alpha",
      { ...OWNED, "karpenter.sh/provisioner-name": "web", "karpenter.sh/managed-by": CLUSTER },
    ],
    [
      "beta",
      {
        ...OWNED,
        "karpenter.sh/nodepool": "web",
        "karpenter.sh/managed-by": CLUSTER,
        "karpenter.k8s.aws/ec2nodeclass": "default",
      },
    ],
    [
      "v1",
      {
        ...OWNED,
        "karpenter.sh/nodepool": "web",
        "eks:eks-cluster-name": CLUSTER,
        "karpenter.k8s.aws/ec2nodeclass": "default",
      },
    ],
  ] as const)(
    "of %s override the user's tags, and the user's other tags override those of the settings",
    (generation, ours) => {
      const theirs = Object.fromEntries(Object.keys(ours).map((key) => [key, "mine"]));
      const nodeClass = toAwsClass(ec2NodeClass({ tags: { ...theirs, owner: "class" } }));
      const tags = launchTags(nodeClass, claims[generation], MINE);
      expect(tags).toMatchObject({ ...ours, owner: "class" });
      // v1 has no tags in its settings.
      expect(tags["team"]).toBe(generation === "v1" ? undefined : "all");
    },
  );
});

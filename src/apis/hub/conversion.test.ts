import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { seedObjects } from "../../testing/seed-manifests.ts";
import type { KubeObject } from "../meta.ts";
import { conversionReview, convertObject } from "./conversion.ts";
import { toPool } from "./to-pool.ts";

const SEEDS = [
  "s2-01-nodepool.yaml",
  "s2-03-ec2nodeclass.yaml",
  "s2-04-selector-terms.yaml",
  "s3-30-ec2nodeclass-full.yaml",
  "s3-30b-ec2nodeclass-instanceprofile.yaml",
  "s3-31-nodepool-full-1.yaml",
  "s3-32-nodepool-full-2.yaml",
  "s4-01-spot.yaml",
];

function group(object: KubeObject): string {
  return (object.apiVersion as string).split("/")[0] as string;
}

function there(object: KubeObject) {
  // biome-ignore lint/suspicious/noExplicitAny: results are read freely
  return convertObject(object, `${group(object)}/v1`) as any;
}

function back(object: KubeObject) {
  // biome-ignore lint/suspicious/noExplicitAny: results are read freely
  return convertObject(object, `${group(object)}/v1beta1`) as any;
}

describe("conversion from v1beta1 to v1", () => {
  it("converts every seed object to v1 and back without loss", () => {
    for (const object of SEEDS.flatMap((path) => seedObjects(path))) {
      if (!String(object.apiVersion).endsWith("/v1beta1")) continue;
      const written = { ...object };
      // Adds the defaults that the schema would add before conversion.
      if (written.kind === "NodePool")
        written.spec = {
          ...written.spec,
          disruption: { consolidationPolicy: "WhenUnderutilized", ...written.spec.disruption },
        };
      const result = back(there(written));
      expect(result, object.metadata.name).toEqual(written);
    }
  });

  it("converts expireAfter, consolidationPolicy, kubelet and nodeClassRef of a NodePool", () => {
    const [object] = seedObjects("s2-01-nodepool.yaml");
    const pool = there(object);
    expect(pool.spec.template.spec).toMatchObject({
      expireAfter: "360h",
      nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
    });
    expect(pool.spec.template.spec.kubelet).toBeUndefined();
    expect(pool.spec.disruption).toEqual({
      consolidationPolicy: "WhenEmptyOrUnderutilized",
      consolidateAfter: "0s",
    });
    expect(toPool(pool)).toMatchObject({
      generation: "beta",
      kubelet: { maxPods: 20 },
      disruption: { expireMode: "voluntary", expireAfter: 360 * 3_600_000 },
    });
  });

  it("converts the amiFamily to an AMI alias", () => {
    const { amiSelectorTerms: _, ...spec } = seedObjects("s3-30-ec2nodeclass-full.yaml")[0].spec;
    const beta = {
      apiVersion: "karpenter.k8s.aws/v1beta1",
      kind: "EC2NodeClass",
      metadata: { name: "x" },
      spec,
    } as KubeObject;
    const v1 = there(beta);
    expect(v1.spec.amiSelectorTerms).toEqual([{ alias: "al2@latest" }]);
    expect(v1.spec.amiFamily).toBeUndefined();
    expect(back(v1)).toEqual(beta);
  });

  it("converts amiFamily Ubuntu to AL2 with an annotation", () => {
    const beta = {
      apiVersion: "karpenter.k8s.aws/v1beta1",
      kind: "EC2NodeClass",
      metadata: { name: "x" },
      spec: { amiFamily: "Ubuntu", role: "r" },
    } as unknown as KubeObject;
    const v1 = there(beta);
    expect(v1.metadata.annotations["compatibility.karpenter.k8s.aws/v1beta1-ubuntu"]).toBe(
      "amiFamily,blockDeviceMappings,incompatible",
    );
    expect(v1.spec).toMatchObject({
      amiFamily: "AL2",
      amiSelectorTerms: [{ id: "ami-placeholder" }],
    });
    expect(back(v1)).toEqual(beta);
  });
});

describe("conversion from v1 to v1beta1", () => {
  const pool = {
    apiVersion: "karpenter.sh/v1",
    kind: "NodePool",
    metadata: { name: "a" },
    spec: {
      template: {
        spec: {
          requirements: [],
          nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "k" },
          expireAfter: "Never",
          terminationGracePeriod: "1h",
        },
      },
      disruption: {
        consolidationPolicy: "WhenEmptyOrUnderutilized",
        consolidateAfter: "5m",
        budgets: [{ nodes: "1", reasons: ["Drifted"] }],
      },
    },
  } as unknown as KubeObject;

  it("keeps fields that v1beta1 lacks, for the way back", () => {
    const beta = back(pool);
    expect(beta.spec.disruption).toEqual({
      consolidationPolicy: "WhenUnderutilized",
      expireAfter: "Never",
      budgets: [{ nodes: "1" }],
    });
    expect(there(beta).spec).toEqual((pool as unknown as { spec: unknown }).spec);
  });

  it("drops the reasons of budgets that were changed in v1beta1", () => {
    const beta = back(pool);
    beta.spec.disruption = { ...beta.spec.disruption, budgets: [{ nodes: "2" }] };
    expect(there(beta).spec.disruption.budgets).toEqual([{ nodes: "2" }]);
  });

  it("leaves the immutable spec of a v1 NodeClaim unchanged, there and back", () => {
    const claim = {
      apiVersion: "karpenter.sh/v1",
      kind: "NodeClaim",
      metadata: { name: "a" },
      spec: {
        requirements: [],
        nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "c" },
        expireAfter: "1h",
        terminationGracePeriod: "5m",
      },
    } as unknown as KubeObject;
    const again = there(back(claim));
    expect(again.spec).toEqual((claim as unknown as { spec: unknown }).spec);
    expect(again.metadata.annotations["compatibility.karpenter.sh/generation"]).toBeUndefined();
  });
});

describe("a ConversionReview", () => {
  const review = (desiredAPIVersion: string, ...objects: readonly KubeObject[]) =>
    atOnce(conversionReview({ request: { uid: "u", desiredAPIVersion, objects } })).response;

  it("is answered with as many objects as it has", () => {
    const [object] = seedObjects("s2-01-nodepool.yaml");
    const answer = review("karpenter.sh/v1", object, object);
    expect(answer).toMatchObject({ uid: "u", result: { status: "Success" } });
    expect(answer["convertedObjects"]).toHaveLength(2);
  });

  it("fails with the object's name if no conversion exists", () => {
    const [object] = seedObjects("s0-04-custom_karpenter_provisioner.yaml");
    expect(review("karpenter.sh/v1", object)["result"]).toMatchObject({
      status: "Failed",
      message: expect.stringContaining("Provisioner custom"),
    });
  });
});

describe("a ConversionReview of a malformed object", () => {
  const nodeClassRef = { kind: "EC2NodeClass", name: "c" };
  const claim = (spec: object, annotations = {}) => ({
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: { name: "x", annotations },
    spec: { requirements: [], nodeClassRef: { group: "g", ...nodeClassRef }, ...spec },
  });
  const answer = (objects: unknown, more = {}) =>
    atOnce(
      conversionReview({
        request: { uid: "u", desiredAPIVersion: "karpenter.sh/v1beta1", objects, ...more },
      }),
      // biome-ignore lint/suspicious/noExplicitAny: the response is read freely
    ).response as any;

  it.each([
    [null, "an item is no object"],
    [
      claim({ nodeClassRef: 5 }),
      "converting NodeClaim x: spec.nodeClassRef: wanted an object, got 5",
    ],
    [{ ...claim({}), metadata: null }, "metadata: wanted an object, got null"],
    [{ ...claim({}), kind: "constructor" }, "no way from karpenter.sh/v1"],
    [{ ...claim({}), kind: { toString: 5 } }, "no way from karpenter.sh/v1"],
    [{ ...claim({}), apiVersion: "/v1" }, "no way from /v1"],
  ])("fails with a message that names the field or versions: %j", (object, words) => {
    const { result } = answer([object]);
    expect(result.status).toBe("Failed");
    expect(result.message).toContain(words);
  });

  it("is answered with an empty uid if its uid is not a string", () => {
    expect(answer([], { uid: [[[]]] })).toMatchObject({ uid: "", convertedObjects: [] });
  });

  it.each(["5", '{"apiVersion": {}, "name": "c"}', '{"name": 5}', "[".repeat(5)])(
    "converts a NodeClaim with malformed compatibility annotations: %s",
    (text) => {
      const annotations = {
        "compatibility.karpenter.sh/v1beta1-nodeclass-reference": text,
        "compatibility.karpenter.sh/v1-only": text,
      };
      const { convertedObjects } = answer([claim({}, annotations)]);
      expect(convertedObjects[0].spec.nodeClassRef).toMatchObject({
        kind: "EC2NodeClass",
        name: "c",
      });
    },
  );
});

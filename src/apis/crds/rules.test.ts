import { Environment } from "@marcbachmann/cel-js";
import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "./all.ts";
import type { CelRule, JsonSchema } from "./schema.ts";

const env = new Environment({ unlistedVariablesAreDyn: true });

function rulesOf(schema: JsonSchema): readonly CelRule[] {
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.additionalProperties === undefined ? [] : [schema.additionalProperties]),
  ];
  return [...(schema["x-kubernetes-validations"] ?? []), ...children.flatMap(rulesOf)];
}

function schemaAt(kind: string, version: string, path: string): JsonSchema {
  const crd = customResourceDefinitions().find((one) => one.spec.names["kind"] === kind);
  let schema = crd?.spec.versions.find((one) => one.name === version)?.schema.openAPIV3Schema;
  for (const step of path.split(".")) {
    schema = step === "[]" ? schema?.items : schema?.properties?.[step];
  }
  if (schema === undefined) throw new Error(`${kind} ${version} has no ${path}`);
  return schema;
}

/** The messages of the rules at `path` that the value `self` breaks. */
function broken(kind: string, version: string, path: string, self: unknown): readonly string[] {
  const rules = schemaAt(kind, version, path)["x-kubernetes-validations"] ?? [];
  return rules
    .filter(({ rule }) => !rule.includes("oldSelf"))
    .filter(({ rule }) => env.parse(rule)({ self }) !== true)
    .map(({ message }) => message);
}

describe("validation rules of the CRD schemas", () => {
  it("all parse as CEL", () => {
    for (const crd of customResourceDefinitions()) {
      for (const version of crd.spec.versions) {
        for (const { rule } of rulesOf(version.schema.openAPIV3Schema)) {
          expect(() => env.parse(rule), rule).not.toThrow();
        }
      }
    }
  });

  it("check kubelet quantities and thresholds in v1beta1; v1 allows expressions", () => {
    const kubelet = "spec.template.spec.kubelet";
    const takes = (field: string, value: string) => {
      const amount = schemaAt("NodePool", "v1beta1", `${kubelet}.${field}`).additionalProperties;
      return new RegExp(amount?.pattern as string).test(value);
    };
    for (const field of ["kubeReserved", "systemReserved", "evictionHard", "evictionSoft"]) {
      for (const value of ["100Mi", "1.5", "200m"]) expect(takes(field, value), value).toBe(true);
      for (const value of ["lots", "1 Gi", "max_pods * 2"])
        expect(takes(field, value), value).toBe(false);
      expect(takes(field, "10%")).toBe(field.startsWith("eviction"));
      expect(takes(field, "101%")).toBe(false);
    }
    const v1 = schemaAt("EC2NodeClass", "v1", "spec.kubelet.kubeReserved");
    expect(v1.additionalProperties).toEqual({ type: "string" });
  });

  it("name the operator, In or NotIn, for a NodeOverlay requirement without values", () => {
    const check = (operator: string) =>
      broken("NodeOverlay", "v1alpha1", "spec.requirements", [{ key: "a", operator }]);
    for (const operator of ["In", "NotIn"])
      expect(check(operator)).toEqual([
        `requirements with operator '${operator}' must have a value defined`,
      ]);
    expect(check("Exists")).toEqual([]);
  });

  it("make template labels of a v1 NodePool atomic for server-side apply", () => {
    const of = (version: string) =>
      schemaAt("NodePool", version, "spec.template.metadata.labels")["x-kubernetes-map-type"];
    expect([of("v1"), of("v1beta1")]).toEqual(["atomic", undefined]);
  });

  it("restrict Kubernetes' own label domains in v1beta1 only", () => {
    const path = "spec.template.spec.requirements.[].key";
    const check = (version: string, key: string) => broken("NodePool", version, path, key);
    expect(check("v1beta1", "node.kubernetes.io/nodetype")).toEqual([]);
    expect(check("v1beta1", "topology.kubernetes.io/zone")).toEqual([]);
    expect(check("v1beta1", "x.kops.k8s.io/a")).toEqual([]);
    expect(check("v1beta1", "kubernetes.io/custom")).toEqual([
      'label domain "kubernetes.io" is restricted',
    ]);
    expect(check("v1", "kubernetes.io/custom")).toEqual([]);
    expect(check("v1", "kubernetes.io/hostname")).toEqual([
      'label "kubernetes.io/hostname" is restricted',
    ]);
    expect(check("v1", "karpenter.sh/custom")).toEqual([
      'label domain "karpenter.sh" is restricted',
    ]);
    expect(check("v1", "karpenter.k8s.aws/instance-family")).toEqual([]);
    expect(check("v1", "karpenter.k8s.aws/unknown")).toEqual([
      'label domain "karpenter.k8s.aws" is restricted',
    ]);
    expect(check("v1", "karpenter.sh/nodepool")).toEqual([
      'label "karpenter.sh/nodepool" is restricted',
    ]);
    expect(check("v1", "example.com/team")).toEqual([]);
  });

  it("require `values` that suit the requirement's `operator`", () => {
    const check = (one: object) =>
      broken("NodePool", "v1", "spec.template.spec.requirements", [{ key: "a", ...one }]);
    expect(check({ operator: "In", values: ["x"] })).toEqual([]);
    expect(check({ operator: "In" })).toEqual([
      "requirements with operator 'In' must have a value defined",
    ]);
    expect(check({ operator: "Gt", values: ["-1"] })).toHaveLength(1);
    expect(check({ operator: "Gt", values: ["2"] })).toEqual([]);
    expect(check({ operator: "In", values: ["x"], minValues: 2 })).toEqual([
      "requirements with 'minValues' must have at least that many values specified in the 'values' field",
    ]);
  });

  it("S3-42: refuse consolidateAfter with WhenUnderutilized in v1beta1", () => {
    const check = (self: object) => broken("NodePool", "v1beta1", "spec.disruption", self);
    expect(check({ consolidationPolicy: "WhenUnderutilized", consolidateAfter: "30s" })).toEqual([
      "consolidateAfter cannot be combined with consolidationPolicy=WhenUnderutilized",
    ]);
    expect(check({ consolidationPolicy: "WhenEmpty" })).toEqual([
      "consolidateAfter must be specified with consolidationPolicy=WhenEmpty",
    ]);
    expect(check({ consolidationPolicy: "WhenEmpty", consolidateAfter: "30s" })).toEqual([]);
  });

  it("S2-28: refuse `id` together with other fields in a security group or subnet selector term", () => {
    const path = "spec.securityGroupSelectorTerms";
    const terms = [{ tags: { a: "b" } }, { id: "sg-1", name: "x" }];
    expect(broken("EC2NodeClass", "v1beta1", path, terms)).toEqual([
      "'id' is mutually exclusive, cannot be set with a combination of other fields in securityGroupSelectorTerms",
      "'name' is mutually exclusive, cannot be set with a combination of other fields in securityGroupSelectorTerms",
    ]);
    // v1 has other messages for the same rules.
    expect(broken("EC2NodeClass", "v1", path, terms)).toEqual([
      "'id' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
      "'name' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
    ]);
    const subnets = [{ id: "subnet-1", tags: { a: "b" } }];
    expect(broken("EC2NodeClass", "v1", "spec.subnetSelectorTerms", subnets)).toEqual([
      "'id' is mutually exclusive, cannot be set with a combination of other fields in a subnet selector term",
    ]);
  });

  it("S3-24: refuse the tags that Karpenter sets itself", () => {
    const check = (version: string, key: string) =>
      broken("EC2NodeClass", version, "spec.tags", { [key]: "x" });
    expect(check("v1beta1", "kubernetes.io/cluster/foo")).toEqual([
      "tag contains a restricted tag matching kubernetes.io/cluster/",
    ]);
    expect(check("v1beta1", "karpenter.sh/managed-by")).toHaveLength(1);
    expect(check("v1", "eks:eks-cluster-name")).toHaveLength(1);
    expect(check("v1beta1", "karpenter.sh/discovery")).toEqual([]);
  });

  it("require an amiFamily that suits the AMI alias of a v1 EC2NodeClass", () => {
    const base = { role: "r", subnetSelectorTerms: [], securityGroupSelectorTerms: [] };
    const check = (more: object) => broken("EC2NodeClass", "v1", "spec", { ...base, ...more });
    expect(check({ amiSelectorTerms: [{ alias: "al2023@latest" }] })).toEqual([]);
    expect(check({ amiSelectorTerms: [{ alias: "al2023@latest" }], amiFamily: "AL2" })).toEqual([
      "if set, amiFamily must be 'AL2023' or 'Custom' when using an AL2023 alias",
    ]);
    expect(check({ amiSelectorTerms: [{ id: "ami-1" }] })).toEqual([
      "must specify amiFamily if amiSelectorTerms does not contain an alias",
    ]);
    expect(check({ amiSelectorTerms: [{ alias: "al2@latest" }], instanceProfile: "p" })).toEqual([
      "must specify exactly one of ['role', 'instanceProfile']",
    ]);
  });

  it("require an evictionSoftGracePeriod for each evictionSoft threshold", () => {
    const check = (self: object) =>
      broken("NodePool", "v1beta1", "spec.template.spec.kubelet", self);
    expect(check({ evictionSoft: { "memory.available": "5%" } })).toEqual([
      "evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod",
    ]);
    expect(
      check({
        evictionSoft: { "memory.available": "5%" },
        evictionSoftGracePeriod: { "memory.available": "1m" },
      }),
    ).toEqual([]);
  });

  it("allow volumeInitializationRate only together with snapshotID", () => {
    const path = "spec.blockDeviceMappings.[].ebs";
    const check = (self: object) => broken("EC2NodeClass", "v1", path, self);
    expect(check({ snapshotID: "snap-1", volumeInitializationRate: 100 })).toEqual([]);
    expect(check({ volumeSize: "1Gi", volumeInitializationRate: 100 })).toHaveLength(1);
  });

  it("accept maxPods of a v1 EC2NodeClass as a number or an expression", () => {
    const check = (self: unknown) => broken("EC2NodeClass", "v1", "spec.kubelet.maxPods", self);
    expect(check(29)).toEqual([]);
    expect(check("min(110, vcpus * 16)")).toEqual([]);
    expect(check(-1)).toEqual([
      "maxPods must be a number from 0 to 2147483647, or an expression as text",
    ]);
  });

  it("check reservations, network interfaces, timeouts and placement groups of an EC2NodeClass", () => {
    const check = (field: string, self: unknown) =>
      broken("EC2NodeClass", "v1", `spec.${field}`, self);
    const reservation = "capacityReservationSelectorTerms";
    expect(check(reservation, [{ id: "cr-1" }, { tags: { a: "b" }, ownerID: "1" }])).toEqual([]);
    expect(check(reservation, [{ ownerID: "123456789012" }])).toEqual([
      "expected at least one, got none, ['tags', 'id', 'instanceMatchCriteria']",
    ]);
    expect(check(reservation, [{ id: "cr-1", ownerID: "123456789012" }])).toEqual([
      "'id' is mutually exclusive, cannot be set along with other fields in a capacity reservation selector term",
    ]);

    const one = (networkCardIndex: number, deviceIndex: number, interfaceType = "interface") => ({
      networkCardIndex,
      deviceIndex,
      interfaceType,
    });
    const primary = one(0, 0);
    const good = [primary, one(0, 1, "efa-only"), one(1, 1, "efa-only"), one(1, 0)];
    expect(check("networkInterfaces", [])).toEqual([]);
    expect(check("networkInterfaces", good)).toEqual([]);
    expect(check("networkInterfaces", [one(1, 0)])).toEqual([
      "networkInterfaces must include a primary interface with interfaceType='interface'",
    ]);
    const twice =
      "networkInterfaces must not have duplicate networkCardIndex and deviceIndex pairs, and can have at most one efa device per network card";
    expect(check("networkInterfaces", [primary, primary])).toEqual([twice]);
    expect(check("networkInterfaces", [...good, one(1, 2, "efa-only")])).toEqual([twice]);

    expect(check("connectionTracking", { udpTimeout: 30 })).toEqual([]);
    expect(check("connectionTracking", {})).toEqual([
      "at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set",
    ]);

    expect(check("placementGroupSelector", { id: "pg-1" })).toEqual([]);
    expect(check("placementGroupSelector", {})).toEqual([
      "expected at least one, got none, ['name', 'id']",
    ]);
    expect(check("placementGroupSelector", { id: "pg-1", name: "a" })).toEqual([
      "'name' and 'id' are mutually exclusive",
    ]);
  });
});

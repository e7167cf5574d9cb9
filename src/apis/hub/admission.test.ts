import { describe, expect, it } from "vitest";
import { seedObjects } from "../../testing/seed-manifests.ts";
import type { Provisioner } from "../karpenter/provisioner.ts";
import type { KubeObject } from "../meta.ts";
import { type AdmissionSettings, answerWebhook, webhookConfigurations } from "./admission.ts";

const settings: AdmissionSettings = {
  clusterName: "karpenter-demo",
  acceptMinusOne: true,
  defaultInstanceProfile: undefined,
};

function ask(path: string, object: unknown, more: Partial<AdmissionSettings> = {}) {
  const review = { request: { uid: "u", operation: "CREATE", object } };
  // biome-ignore lint/suspicious/noExplicitAny: an answer is read freely
  return answerWebhook(path, review, { ...settings, ...more })?.response as any;
}

/** The messages of all webhooks that deny the object, together. Undefined: none denies it. */
function denial(object: unknown, more: Partial<AdmissionSettings> = {}): string | undefined {
  const answers = ["/validate/karpenter.k8s.aws", "/validate/karpenter.sh"].map((path) =>
    ask(path, object, more),
  );
  const texts = answers.filter((one) => !one.allowed).map((one) => one.status.message);
  return texts.length === 0 ? undefined : texts.join("\n");
}

function defaulted(object: Provisioner): Provisioner {
  const answer = ask("/default/karpenter.k8s.aws", object);
  if (answer.patch === undefined) return object;
  const [operation] = JSON.parse(Buffer.from(answer.patch, "base64").toString("utf8"));
  return { ...object, spec: operation.value };
}

function provisioner(spec: object): Provisioner {
  return {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name: "default" },
    spec: { providerRef: { name: "default" }, ...spec },
  };
}

function template(spec: object): KubeObject {
  return {
    apiVersion: "karpenter.k8s.aws/v1alpha1",
    kind: "AWSNodeTemplate",
    metadata: { name: "default" },
    spec: { subnetSelector: { a: "b" }, securityGroupSelector: { a: "b" }, ...spec },
  } as KubeObject;
}

function keys(object: Provisioner): readonly string[] {
  return (object.spec.requirements ?? []).map((one) => `${one.key} ${one.operator} ${one.values}`);
}

describe("defaulting of Provisioners", () => {
  it("S0-25: adds os and capacity type beside a given instance type, and no category", () => {
    const [object] = seedObjects("s0-04-custom_karpenter_provisioner.yaml");
    expect(keys(defaulted(object)).slice(2)).toEqual([
      "kubernetes.io/os In linux",
      "karpenter.sh/capacity-type In on-demand",
    ]);
  });

  it("adds category and generation where no requirement selects instances", () => {
    expect(keys(defaulted(provisioner({})))).toEqual([
      "kubernetes.io/os In linux",
      "kubernetes.io/arch In amd64",
      "karpenter.sh/capacity-type In on-demand",
      "karpenter.k8s.aws/instance-category In c,m,r",
      "karpenter.k8s.aws/instance-generation Gt 2",
    ]);
  });

  it("S1-31: adds arch and the cluster's own subnet and security group selectors to an inline provider", () => {
    const [object] = seedObjects("s1-02-provisioner-RECONSTRUCTED.yaml");
    const result = defaulted(object);
    expect(keys(result)).toEqual([
      "karpenter.sh/capacity-type In spot",
      "kubernetes.io/arch In amd64",
    ]);
    expect(result.spec.provider).toMatchObject({
      subnetSelector: { "kubernetes.io/cluster/karpenter-demo": "*" },
      securityGroupSelector: { "kubernetes.io/cluster/karpenter-demo": "*" },
    });
    expect(denial(result)).toBeUndefined();
  });

  it("changes nothing in a Provisioner that is defaulted already", () => {
    const once = defaulted(provisioner({}));
    expect(ask("/default/karpenter.k8s.aws", once).patch).toBeUndefined();
  });
});

describe("validation of Provisioners", () => {
  it("S0-01: requires exactly one of provider and providerRef", () => {
    const [object] = seedObjects("negative/s0-11-provisioner-without-providerref.yaml");
    expect(denial(object)).toBe(
      "validation failed: expected exactly one, got neither: spec.provider, spec.providerRef",
    );
    expect(denial(provisioner({ provider: { instanceProfile: "p" } }))).toContain(
      "expected exactly one, got both: spec.provider, spec.providerRef",
    );
  });

  it(`S1-33: accepts ttlSecondsAfterEmpty -1 as "never" and denies other negative values`, () => {
    const [object] = seedObjects("s1-05-provisioner-ttl-minus-one.yaml");
    expect(denial(defaulted(object))).toBeUndefined();
    expect(denial(defaulted(object), { acceptMinusOne: false })).toContain("cannot be negative");
    expect(denial(provisioner({ ttlSecondsAfterEmpty: -2 }))).toBe(
      "validation failed: invalid value: cannot be negative: spec.ttlSecondsAfterEmpty",
    );
  });

  it("S1-18: requires spec.provider.instanceProfile unless a default instance profile is set", () => {
    const inline = defaulted({ ...provisioner({}), spec: { provider: {} } });
    expect(denial(inline)).toBe(
      "validation failed: missing field(s): spec.provider.instanceProfile",
    );
    expect(denial(inline, { defaultInstanceProfile: "p" })).toBeUndefined();
  });

  it("denies unknown fields in spec.provider", () => {
    const spec = { provider: { instanceProfile: "p", userData: "x" } };
    const inline = defaulted({ ...provisioner({}), spec });
    expect(denial(inline)).toBe('validation failed: json: unknown field "userData": spec.provider');
  });

  it("denies ttlSecondsAfterEmpty together with consolidation", () => {
    const spec = { ttlSecondsAfterEmpty: 30, consolidation: { enabled: true } };
    expect(denial(provisioner(spec))).toContain(
      "expected exactly one, got both: spec.consolidation.enabled, spec.ttlSecondsAfterEmpty",
    );
  });

  it("denies restricted labels, duplicate taints and values that do not suit the operator", () => {
    expect(denial(provisioner({ labels: { "karpenter.sh/custom": "x" } }))).toContain(
      'invalid key name "karpenter.sh/custom": spec.labels',
    );
    expect(denial(provisioner({ labels: { "node.kubernetes.io/role": "x" } }))).toBeUndefined();
    expect(denial(provisioner({ labels: { "a.node.kubernetes.io/role": "x" } }))).toBeDefined();
    const taints = [{ key: "a", effect: "NoSchedule" }];
    expect(denial(provisioner({ taints, startupTaints: taints }))).toContain("duplicate taint");
    const gt = { key: "karpenter.k8s.aws/instance-cpu", operator: "Gt", values: ["many"] };
    expect(denial(provisioner({ requirements: [gt] }))).toContain("spec.requirements[0].values");
  });

  it("checks kubeletConfiguration", () => {
    const kubelet = (config: object) => denial(provisioner({ kubeletConfiguration: config }));
    expect(kubelet({ evictionHard: { "memory.available": "5%" } })).toBeUndefined();
    expect(kubelet({ evictionHard: { memory: "5%" } })).toContain('invalid key name "memory"');
    expect(kubelet({ evictionSoft: { "memory.available": "5%" } })).toContain(
      "does not have a matching evictionSoftGracePeriod",
    );
    expect(kubelet({ systemReserved: { cpu: "-1" } })).toContain("invalid value: -1");
    const thresholds = { imageGCHighThresholdPercent: 10, imageGCLowThresholdPercent: 20 };
    expect(kubelet(thresholds)).toContain("must be greater");
  });
});

describe("validation of AWSNodeTemplates", () => {
  it("S0-05: requires both selectors", () => {
    const objects = seedObjects("negative/s0-12-nodetemplate-missing-selectors.yaml");
    expect(objects.map((one) => denial(one))).toEqual([
      "validation failed: missing field(s): spec.provider.securityGroupSelector",
      "validation failed: missing field(s): spec.provider.subnetSelector",
    ]);
    expect(denial(seedObjects("s0-02-nodetemplate-default.yaml").at(-1))).toBeUndefined();
  });

  it("S0-65: denies the tags by which instances are found, and no others", () => {
    const objects = seedObjects("negative/s0-10-tags-restricted.yaml");
    expect(objects.map((one) => denial(one) !== undefined)).toEqual([true, true, true]);
    expect(denial(template({ tags: { "karpenter.sh/discovery": "x" } }))).toBeUndefined();
  });

  it("S0-09: denies an unknown amiFamily and lists the known ones", () => {
    expect(denial(template({ amiFamily: "Foo" }))).toContain(
      "AL2, Bottlerocket, Ubuntu, Windows2019, Windows2022, Custom",
    );
    expect(denial(template({ amiFamily: "Custom" }))).toContain("spec.provider.amiSelector");
  });

  it("S0-13: denies an httpPutResponseHopLimit above 64", () => {
    const options = { httpPutResponseHopLimit: 65 };
    expect(denial(template({ metadataOptions: options }))).toBe(
      "validation failed: expected 1 <= 65 <= 64: spec.provider.metadataOptions.httpPutResponseHopLimit",
    );
  });

  it("checks blockDeviceMappings", () => {
    const device = (ebs: object) =>
      denial(template({ blockDeviceMappings: [{ deviceName: "/dev/xvda", ebs }] }));
    expect(device({ volumeSize: "20Gi", volumeType: "gp3" })).toBeUndefined();
    expect(device({ snapshotID: "snap-1" })).toBeUndefined();
    expect(device({})).toContain("missing field(s)");
    expect(device({ volumeSize: "100Ti" })).toContain("invalid value: 100Ti");
  });

  it("denies userData together with launchTemplate", () => {
    const spec = { launchTemplate: "lt", securityGroupSelector: undefined, userData: "x" };
    expect(denial(template(spec))).toBe(
      "validation failed: expected exactly one, got both: spec.provider.launchTemplate, spec.provider.userData",
    );
  });

  it("S0-51: accepts the curly quote in the seed's tags", () => {
    const objects = seedObjects("negative/s0-07-basic-deploy-blockdevice-curly-quote-asis.yaml");
    expect(objects.map((one) => denial(one))).toEqual([undefined, undefined]);
    expect(objects[1].spec.tags.intent).toBe('“apps"');
  });
});

describe("the webhooks", () => {
  it("deny a logging ConfigMap that cannot be parsed", () => {
    const [object] = seedObjects("s3-41-config-logging.yaml");
    expect(ask("/validate/config.karpenter.sh", object).allowed).toBe(true);
    const broken = { ...object, data: { "zap-logger-config": "{", "loglevel.controller": "loud" } };
    expect(ask("/validate/config.karpenter.sh", broken).status.message).toContain(
      "data.loglevel.controller",
    );
  });

  it("answer at the path of each webhook configuration, and at no other", () => {
    const paths = webhookConfigurations().flatMap((one) =>
      // biome-ignore lint/suspicious/noExplicitAny: shape of admissionregistration
      (one as any).webhooks.map((webhook: any) => webhook.clientConfig.service.path),
    );
    expect(paths.map((path) => answerWebhook(path, {}, settings)?.kind)).toEqual(
      paths.map(() => "AdmissionReview"),
    );
    expect(answerWebhook("/elsewhere", {}, settings)).toBeUndefined();
  });
});

describe("objects with fields of wrong types", () => {
  const provisioner = (spec: object) => ({
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name: "p" },
    spec,
  });

  it.each([
    [{ requirements: {} }, "spec.requirements: wanted a list, got an object"],
    [{ taints: [null] }, "spec.taints[0]: wanted an object, got null"],
    [{ provider: { tags: { a: 5 } } }, "spec.provider.tags.a: wanted a text, got 5"],
  ])("are not changed by defaulting, and denied with the field's path: %j", (spec, words) => {
    const object = provisioner(spec);
    expect(defaulted(object as unknown as Provisioner)).toBe(object);
    expect(denial(object)).toContain(words);
  });

  it("may have null in an optional field", () => {
    const requirement = { key: "a", operator: "Exists", values: null };
    const object = provisioner({
      providerRef: { name: "t" },
      requirements: [requirement],
      labels: null,
    });
    expect(denial(object)).toBeUndefined();
  });

  it("are denied in a logging ConfigMap", () => {
    const data = { "zap-logger-config": 5, "loglevel.controller": [] };
    const answer = ask("/validate/config.karpenter.sh", { kind: "ConfigMap", data });
    expect(answer.allowed).toBe(false);
    expect(ask("/validate/config.karpenter.sh", { kind: "ConfigMap", data: 5 }).allowed).toBe(true);
  });
});

describe("an object with many or long faults", () => {
  it("is refused with a text of at most some hundred kilobytes", () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `key-${at}`);
    const template = {
      apiVersion: "karpenter.k8s.aws/v1alpha1",
      kind: "AWSNodeTemplate",
      metadata: { name: "x" },
      spec: {
        tags: Object.fromEntries(many.map((key) => [`kubernetes.io/cluster/${key}`, "v"])),
        blockDeviceMappings: many.map((deviceName) => ({
          deviceName,
          ebs: { volumeSize: "1Zi".repeat(50) },
        })),
        subnetSelector: Object.fromEntries(many.map((key) => [key, ""])),
        amiSelector: { "aws::ids": "x,".repeat(100_000) },
      },
    };
    const text = denial(template) ?? "";
    expect(text.length).toBeLessThan(500_000);
    expect(text).toMatch(/\nand [\d,]+ more problems$/);
  });
});

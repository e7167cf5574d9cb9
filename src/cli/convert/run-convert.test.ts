import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { type ConvertFlags, runConvert } from "./run-convert.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const DERIVED = `${ROOT}test/fixtures/seeds/derived/`;

/** What the command prints to standard output and to standard error. */
async function convert(
  given: string,
  flags: Partial<ConvertFlags> = {},
): Promise<{ text: string; said: readonly string[]; objects: readonly unknown[] }> {
  let text = "";
  const said: string[] = [];
  await runConvert(
    {
      filename: ["-"],
      recursive: false,
      ignoreDefaults: false,
      output: "yaml",
      to: "v1beta1",
      ...flags,
    },
    {
      out: (more) => {
        text += more;
      },
      say: (line) => said.push(line),
      stdin: () => given,
    },
  );
  const objects = parseAllDocuments(text).map((one) => one.toJS());
  return { text, said, objects };
}

function derived(name: string): string {
  return readFileSync(`${DERIVED}${name}.yaml`, "utf8").replaceAll(/^#.*\n/gm, "");
}

async function pool(spec: object, flags: Partial<ConvertFlags> = {}) {
  const provisioner = {
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name: "a", resourceVersion: "7", creationTimestamp: null },
    spec: { providerRef: { name: "a" }, ...spec },
    status: { resources: { cpu: "1" } },
  };
  const { objects, said } = await convert(JSON.stringify(provisioner), flags);
  // biome-ignore lint/suspicious/noExplicitAny: read as YAML
  return { object: objects[0] as any, objects: objects as any[], said };
}

async function nodeClass(spec: object) {
  const template = {
    apiVersion: "karpenter.k8s.aws/v1alpha1",
    kind: "AWSNodeTemplate",
    metadata: { name: "a" },
    spec,
  };
  const { objects, said } = await convert(JSON.stringify(template));
  // biome-ignore lint/suspicious/noExplicitAny: read as YAML
  return { object: objects[0] as any, said };
}

describe("karpenter-convert", () => {
  it("S2-15, S2-34, S2-37 makes the seed's Provisioner a NodePool, byte for byte", async () => {
    const { text } = await convert("", {
      filename: [`${DERIVED}s2-convert-in-provisioner.yaml`],
    });
    expect(text).toBe(derived("s2-convert-out-nodepool"));
  });

  it("warns about words in an annotation that have no effect", async () => {
    const pool = (word: string) => `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default, annotations: {karpenter.sh/return-to-preferred: "${word}"}}
spec: {providerRef: {name: default}}
`;
    const warnings = async (word: string) =>
      (await convert(pool(word))).said.filter((line) => line.includes("return-to-preferred"));
    expect(await warnings("nodepool")).toEqual([]);
    expect(await warnings("nodepool, capacity_type")).toEqual([
      'warning: NodePool default: annotation karpenter.sh/return-to-preferred: "capacity_type" has no effect (did you mean capacity-type?): write nodepool, capacity-type, dearer, separated by commas\n',
    ]);
  });

  it("warns of each unknown field with its place and the field that was meant, and leaves it out", async () => {
    const given = `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: a}
spec: {foo: 1, consolidation: {enabld: true}, ttlSecondsAfterEmtpy: 30, provider: {tagz: {b: c}}}
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: b}
spec:
  disruption: {consolidatonPolicy: WhenEmpty}
  template: {spec: {requirements: [], kubelet: {foo: 1}, nodeClassRef: {name: b}}}
`;
    const { text, said } = await convert(given, { to: "v1" });
    const a = "Provisioner a: left out: spec";
    const b = "NodePool b: left out: spec";
    const lines = said.join("").split("\n");
    const unknown = lines.filter((line) => line.includes("unknown field"));
    const one = "warning: standard input, document 1, line 5";
    const two = "warning: standard input, document 2, line";
    expect(unknown).toEqual([
      `${one}: ${a}.foo: unknown field`,
      `${one}: ${a}.consolidation.enabld: unknown field; did you mean enabled?`,
      `${one}: ${a}.ttlSecondsAfterEmtpy: unknown field; did you mean ttlSecondsAfterEmpty?`,
      `${one}: ${a}.provider.tagz: unknown field; did you mean tags?`,
      `${two} 11: ${b}.disruption.consolidatonPolicy: unknown field; did you mean consolidationPolicy?`,
      `${two} 12: ${b}.template.spec.kubelet.foo: unknown field`,
    ]);
    expect(text).not.toMatch(/consolidatonPolicy|foo/);
  });

  it("S2-15 converts consolidation, emptiness and expiration", async () => {
    const disruption = async (spec: object) => (await pool(spec)).object.spec.disruption;
    expect(
      await disruption({ consolidation: { enabled: true }, ttlSecondsAfterEmpty: 30 }),
    ).toEqual({ consolidationPolicy: "WhenUnderutilized", expireAfter: "Never" });
    expect(
      await disruption({ ttlSecondsAfterEmpty: 90, ttlSecondsUntilExpired: 2_592_000 }),
    ).toEqual({
      consolidationPolicy: "WhenEmpty",
      consolidateAfter: "1m30s",
      expireAfter: "720h0m0s",
    });
    const { object, said } = await pool({});
    expect(object.spec.disruption).toEqual({ expireAfter: "Never" });
    expect(said.join()).toContain("neither consolidates nor ends empty nodes");
  });

  it("warns that the wait before an empty node ends is lost beside consolidation", async () => {
    const both = { consolidation: { enabled: true }, ttlSecondsAfterEmpty: 30 };
    for (const to of ["v1beta1", "v1"] as const)
      expect((await pool(both, { to })).said.join()).toContain(
        "warning: NodePool a: ttlSecondsAfterEmpty 30 was left out: the Provisioner also enables consolidation",
      );
  });

  it("says nothing of a container runtime that every NodePool has", async () => {
    const said = async (containerRuntime: string) =>
      (await pool({ kubeletConfiguration: { containerRuntime } })).said.join();
    expect(await said("containerd")).not.toContain("containerRuntime");
    expect(await said("dockerd")).toContain("containerRuntime dockerd was left out");
  });

  it("says once which version was written and how to get v1, and nothing where v1 was asked for", async () => {
    const notes = async (flags: Partial<ConvertFlags>) =>
      (await pool({}, flags)).said.join("").match(/^note: .*$/gm);
    expect(await notes({})).toEqual([
      "note: the objects were written as v1beta1; --to v1 writes v1",
    ]);
    expect(await notes({ to: "v1" })).toBeNull();
  });

  it("S2-38, S2-39 makes the seed's AWSNodeTemplate an EC2NodeClass with the role to be filled in", async () => {
    const { text, said } = await convert("", {
      filename: [`${DERIVED}s2-convert-in-nodetemplate.yaml`],
    });
    expect(text).toBe(derived("s2-convert-out-nodeclass"));
    expect(text).toContain("  role: $KARPENTER_NODE_ROLE\n");
    expect(said.join()).toContain("put the nodes' IAM role there");
    const profiled = await nodeClass({ instanceProfile: "old" });
    expect(profiled.object.spec).toEqual({ amiFamily: "AL2", role: "$KARPENTER_NODE_ROLE" });
    expect(profiled.said.join()).toContain("the instance profile old was left out");
  });

  it("S2-35, S2-36 is a command of its own, which needs no cluster", () => {
    const { bin } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
    const file = `${ROOT}${bin["karpenter-convert"]}`;
    if (!existsSync(`${ROOT}dist/cli/karpenter-convert.js`))
      throw new Error("dist/ is missing: run tsc -b");
    const env = { PATH: process.env["PATH"] ?? "", KUBECONFIG: "/nowhere" };
    const help = execFileSync(process.execPath, [file, "-h"], { env, encoding: "utf8" });
    expect(help).toContain("Usage: karpenter-convert [options]");
    expect(help).toContain("--ignore-defaults");
  });

  it("S2-40 converts one Provisioner to one NodePool and creates nothing else, so the user chooses how to roll over", async () => {
    const { objects } = await pool({ weight: 10, taints: [{ key: "k", effect: "NoSchedule" }] });
    expect(objects).toHaveLength(1);
    expect(objects[0].spec.weight).toBe(10);
    expect(objects[0].spec.template.spec.taints).toEqual([{ key: "k", effect: "NoSchedule" }]);
  });

  it("adds the default requirements of v1alpha5, unless a flag says not to", async () => {
    const keys = async (spec: object, flags = {}) =>
      (await pool(spec, flags)).object.spec.template.spec.requirements?.map(
        (one: { key: string }) => one.key.slice(one.key.indexOf("/") + 1),
      );
    expect(await keys({})).toEqual([
      "os",
      "arch",
      "capacity-type",
      "instance-category",
      "instance-generation",
    ]);
    expect(await keys({}, { ignoreDefaults: true })).toBeUndefined();
  });

  it("keeps the fields that users set, and drops the fields that the cluster wrote", async () => {
    const { object } = await pool({
      limits: { resources: { cpu: 1000, memory: "1024Mi", pods: "x" } },
      kubeletConfiguration: {
        containerRuntime: "dockerd",
        evictionSoftGracePeriod: { "memory.available": "1m" },
      },
    });
    expect(object.metadata).toEqual({ name: "a" });
    expect(object.status).toBeUndefined();
    expect(object.spec.limits).toEqual({ cpu: "1k", memory: "1Gi", pods: "x" });
    expect(object.spec.template.spec.kubelet).toEqual({
      evictionSoftGracePeriod: { "memory.available": "1m0s" },
    });
  });

  it("makes one selector term of each combination of a selector's alternatives", async () => {
    const { object, said } = await nodeClass({
      subnetSelector: { b: "1,2", a: "x,y" },
      securityGroupSelector: { "aws-ids": "sg-1,sg-2" },
      amiSelector: { "aws::owners": "self,123", "aws::ids": "ami-1", "aws::name": "n" },
    });
    expect(object.spec.subnetSelectorTerms.map((one: { tags: object }) => one.tags)).toEqual([
      { a: "x", b: "1" },
      { a: "y", b: "1" },
      { a: "x", b: "2" },
      { a: "y", b: "2" },
    ]);
    expect(object.spec.securityGroupSelectorTerms).toEqual([{ id: "sg-1" }, { id: "sg-2" }]);
    expect(object.spec.amiSelectorTerms).toEqual([
      { id: "ami-1", name: "n", owner: "self" },
      { id: "ami-1", name: "n", owner: "123" },
    ]);
    expect(said.join()).toContain("an id may have nothing else");
  });

  it("makes an EC2NodeClass from an inline provider block", async () => {
    const provider = { subnetSelector: { a: "b" }, instanceProfile: "p" };
    const { objects } = await pool({ providerRef: undefined, provider });
    expect(objects.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ["NodePool", "a"],
      ["EC2NodeClass", "a"],
    ]);
    expect(objects[0].spec.template.spec.nodeClassRef).toEqual({ name: "a" });
  });

  it("says why a URL cannot be fetched and what to try, also if no address of the host answers", async () => {
    const refused = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
    const asked = vi.spyOn(globalThis, "fetch");
    try {
      asked.mockRejectedValue(new TypeError("fetch failed", { cause: refused }));
      const url = "http://localhost/x.yaml";
      await expect(convert("", { filename: [url] })).rejects.toThrow(
        `${url}: cannot be fetched: ECONNREFUSED; check the URL, or download it and give the file`,
      );
      asked.mockResolvedValue(new Response("", { status: 404 }));
      await expect(convert("", { filename: [url] })).rejects.toThrow(
        `${url}: the server answered 404; check the URL, or download it and give the file`,
      );
    } finally {
      asked.mockRestore();
    }
  });

  it("refuses objects without a counterpart, and names them", async () => {
    await expect(nodeClass({ launchTemplate: "x" })).rejects.toThrow(
      'converting AWSNodeTemplate, cannot convert with "spec.launchTemplate"',
    );
    await expect(convert("kind: Pod\napiVersion: v1\nmetadata: {name: a}")).rejects.toThrow(
      "the input has no objects; -f takes files, folders or -",
    );
    await expect(convert("", { filename: [] })).rejects.toThrow(
      "no input: name manifests with -f FILE",
    );
    await expect(convert("", { filename: ["/no/such"] })).rejects.toThrow(
      /^\/no\/such: no such file or folder$/,
    );
    await expect(convert("a: [")).rejects.toThrow("standard input, document 1: ");
  });

  it.each([
    ["karpenter.sh/v1beta1", "NodePool"],
    ["karpenter.k8s.aws/v1beta1", "EC2NodeClass"],
  ])(
    "refuses an incomplete object: %s %s, and names the missing part",
    async (apiVersion, kind) => {
      const half = (rest: object) =>
        convert(JSON.stringify({ apiVersion, kind, ...rest }), { to: "v1" });
      for (const metadata of [undefined, null])
        await expect(half({ metadata, spec: {} })).rejects.toThrow(
          `${kind} has no metadata: give the whole object`,
        );
      await expect(half({ metadata: { name: "a" } })).rejects.toThrow(
        `${kind} a has no spec: give the whole object`,
      );
    },
  );

  it("reads Lists, prints names and JSON, and converts to v1 if asked", async () => {
    const item = parse(derived("s2-convert-in-provisioner"));
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: [item, item] });
    expect((await convert(list, { output: "name" })).text).toBe(
      "nodepool.karpenter.sh/custom\nnodepool.karpenter.sh/custom\n",
    );
    const { text } = await convert(JSON.stringify(item), { output: "json", to: "v1" });
    const v1 = JSON.parse(text);
    expect(v1.apiVersion).toBe("karpenter.sh/v1");
    expect(v1.spec.template.spec.expireAfter).toBe("Never");
    expect(v1.spec.template.spec.nodeClassRef).toEqual({
      group: "karpenter.k8s.aws",
      kind: "EC2NodeClass",
      name: "custom",
    });
  });

  const KUBELET = {
    clusterDNS: ["10.0.0.10"],
    maxPods: 42,
    podsPerCore: 8,
    systemReserved: { cpu: "100m" },
    kubeReserved: { memory: "1Gi" },
    evictionHard: { "memory.available": "5%" },
    evictionSoft: { "memory.available": "10%" },
    evictionSoftGracePeriod: { "memory.available": "1m0s" },
    evictionMaxPodGracePeriod: 60,
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 80,
    cpuCFSQuota: true,
  };
  const alpha = (name: string, kubeletConfiguration?: object) => ({
    apiVersion: "karpenter.sh/v1alpha5",
    kind: "Provisioner",
    metadata: { name },
    spec: {
      providerRef: { name: "shared" },
      consolidation: { enabled: true },
      kubeletConfiguration,
    },
  });
  const template = {
    apiVersion: "karpenter.k8s.aws/v1alpha1",
    kind: "AWSNodeTemplate",
    metadata: { name: "shared" },
    spec: { subnetSelector: { a: "b" }, securityGroupSelector: { a: "b" } },
  };
  async function toV1(...items: readonly object[]) {
    const { objects, said } = await convert(
      JSON.stringify({ apiVersion: "v1", kind: "List", items }),
      { to: "v1" },
    );
    // biome-ignore lint/suspicious/noExplicitAny: read as YAML
    const all = objects as any[];
    const classes = all.filter(({ kind }) => kind === "EC2NodeClass");
    const pools = all.filter(({ kind }) => kind === "NodePool");
    return { pools, classes, said: said.join("") };
  }

  it("to v1 moves every kubelet setting to the EC2NodeClass, in either order of objects", async () => {
    for (const items of [
      [alpha("a", KUBELET), template],
      [template, alpha("a", KUBELET), alpha("b", KUBELET)],
    ]) {
      const { pools, classes, said } = await toV1(...items);
      expect(classes).toHaveLength(1);
      expect(classes[0].spec.kubelet).toEqual(KUBELET);
      for (const one of pools) {
        expect(JSON.stringify(one)).not.toContain("maxPods");
        expect(one.spec.template.spec.nodeClassRef.name).toBe("shared");
      }
      expect(said).not.toContain("kubelet");
    }
  });

  it("to v1 makes one EC2NodeClass for each NodePool with different kubelet settings, and says so", async () => {
    const { pools, classes, said } = await toV1(template, alpha("a", { maxPods: 9 }), alpha("b"));
    expect(classes.map(({ metadata, spec }) => [metadata.name, spec.kubelet])).toEqual([
      ["shared", undefined],
      ["shared-a", { maxPods: 9 }],
    ]);
    expect(pools.map(({ spec }) => spec.template.spec.nodeClassRef.name)).toEqual([
      "shared-a",
      "shared",
    ]);
    expect(said).toContain("warning: NodePool a: EC2NodeClass shared-a was made");
  });

  it("to v1 warns about each loss, and writes values whose default differs in v1", async () => {
    const alone = await toV1(alpha("a", { maxPods: 9, containerRuntime: "dockerd" }));
    expect(alone.said).toContain(
      "its kubelet settings stay in the annotation compatibility.karpenter.sh/v1beta1-kubelet-conversion",
    );
    expect(alone.said).toContain("containerRuntime dockerd was left out");
    const ubuntu = { ...template, spec: { ...template.spec, amiFamily: "Ubuntu" } };
    const { classes, said } = await toV1(ubuntu);
    expect(said).toContain("v1 has no family Ubuntu");
    expect(classes[0].spec.metadataOptions.httpPutResponseHopLimit).toBe(2);
    const own = {
      ...template,
      spec: { ...template.spec, metadataOptions: { httpPutResponseHopLimit: 1 } },
    };
    expect((await toV1(own)).classes[0].spec.metadataOptions.httpPutResponseHopLimit).toBe(1);
    const claim = {
      apiVersion: "karpenter.sh/v1beta1",
      kind: "NodeClaim",
      metadata: { name: "c" },
      spec: { requirements: [], nodeClassRef: { name: "x" } },
    };
    expect((await toV1(claim)).said).toContain("NodeClaim c: spec.expireAfter is 720h");
  });

  it("suggests --to v1 for a v1beta1 object, and says of other objects that there is nothing to convert", async () => {
    const beta = {
      apiVersion: "karpenter.sh/v1beta1",
      kind: "NodePool",
      metadata: { name: "b" },
      spec: { template: { spec: { requirements: [], nodeClassRef: { name: "x" } } } },
    };
    await expect(convert(JSON.stringify(beta))).rejects.toThrow(
      "NodePool b is v1beta1 already; pass --to v1 to convert it to v1",
    );
    const v1 = { ...beta, apiVersion: "karpenter.sh/v1" };
    await expect(convert(JSON.stringify(v1), { to: "v1" })).rejects.toThrow(
      "NodePool b is v1: nothing to convert",
    );
    const mixed = JSON.stringify({ apiVersion: "v1", kind: "List", items: [beta, alpha("a")] });
    const { objects, said } = await convert(mixed);
    expect(objects).toHaveLength(1);
    expect(said.join("")).toContain("warning: NodePool b is v1beta1 already; pass --to v1");
  });

  it("refuses a selector with more combinations than an EC2NodeClass can hold", async () => {
    const values = Array.from({ length: 40 }, (_, at) => `v${at}`).join(",");
    const template = {
      apiVersion: "karpenter.k8s.aws/v1alpha1",
      kind: "AWSNodeTemplate",
      metadata: { name: "many" },
      spec: { subnetSelector: { a: values, b: values, c: values } },
    };
    await expect(convert(JSON.stringify(template))).rejects.toThrow(
      "a selector with the keys a, b, c has over 1000 combinations; name fewer alternatives",
    );
  });

  it.each([
    ["kind: 5\napiVersion: a/v1\n", "standard input: kind: wanted a text, got 5"],
    [
      "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\nspec: {template: 5}\n",
      "converting NodePool p: spec.template: wanted an object, got 5",
    ],
    [
      "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nspec: {}\n",
      "Provisioner : metadata: wanted an object, got nothing",
    ],
  ])("refuses fields of a wrong type and names them: %j", async (text, words) => {
    await expect(convert(text, { to: "v1" })).rejects.toThrow(words);
  });

  it("names a folder without manifests", async () => {
    const folder = mkdtempSync(join(tmpdir(), "convert-"));
    try {
      writeFileSync(join(folder, "notes.txt"), "none");
      await expect(convert("", { filename: [folder] })).rejects.toThrow(
        `${folder}: no manifest (.yaml, .yml, .json) in this folder; -R looks into folders in it, too`,
      );
      await expect(convert("", { filename: [folder], recursive: true })).rejects.toThrow(
        /: no manifest \(\.yaml, \.yml, \.json\) in this folder$/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

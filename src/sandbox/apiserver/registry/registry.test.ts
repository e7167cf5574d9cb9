import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../apis/meta.ts";
import { printFieldError } from "../schema/field-error.ts";
import { createRegistry } from "./create-registry.ts";
import { establish } from "./establish.ts";
import type { Raw } from "./kind-rules.ts";

const registry = createRegistry({ kubernetesVersion: "1.34" });

/**
 * Handles a body as the engine does for a create: drops unknown fields, fills defaults, sets the status,
 * validates.
 */
function create(group: string, plural: string, fields: Raw): { object: Raw; errors: string[] } {
  const definition = registry.find(group, "v1", plural)!;
  const metadata = { name: "x", ...(definition.namespaced ? { namespace: "default" } : {}) };
  const { value } = definition.prune({ metadata, ...fields } as KubeObject);
  const object = definition.prepareCreate(definition.applyDefaults(value));
  return { object, errors: definition.validate(object, undefined).map(printFieldError) };
}

/** The errors of an update from `before` to `after`. */
function update(group: string, plural: string, before: Raw, after: Raw): string[] {
  const definition = registry.find(group, "v1", plural)!;
  const current = create(group, plural, before).object;
  const { value } = definition.prune({ metadata: current.metadata, ...after } as KubeObject);
  const next = definition.prepareUpdate(definition.applyDefaults(value), current);
  return definition.validate(next, current).map(printFieldError);
}

const container = { name: "a", image: "nginx" };
const template = { metadata: { labels: { app: "x" } }, spec: { containers: [container] } };
const selector = { matchLabels: { app: "x" } };

describe("pods in the built-in registry", () => {
  it("get the defaults of the API server, requests from limits and a QoS class", () => {
    const containers = [{ ...container, resources: { limits: { cpu: 1, memory: "1024Mi" } } }];
    const { object, errors } = create("", "pods", { spec: { containers } });
    expect(errors).toEqual([]);
    expect(object.spec).toMatchObject({
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      schedulerName: "default-scheduler",
      securityContext: {},
      enableServiceLinks: true,
    });
    expect(object.spec.containers[0]).toMatchObject({
      imagePullPolicy: "Always",
      resources: { requests: { cpu: "1", memory: "1Gi" } },
    });
    expect(object.status).toEqual({ phase: "Pending", qosClass: "Guaranteed" });
  });

  it.each<[string, Raw, string]>([
    ["no containers", {}, "spec.containers: Required value"],
    ["no image", { containers: [{ name: "a" }] }, "spec.containers[0].image: Required value"],
    [
      "a bad name",
      { containers: [{ ...container, name: "A" }] },
      'spec.containers[0].name: Invalid value: "A"',
    ],
    [
      "requests above limits",
      { containers: [{ ...container, resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } }] },
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    [
      "a toleration without key",
      { containers: [container], tolerations: [{ operator: "Equal" }] },
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty',
    ],
    [
      "an unknown mount",
      { containers: [{ ...container, volumeMounts: [{ name: "v", mountPath: "/v" }] }] },
      'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ],
    [
      "an unknown policy",
      { containers: [container], restartPolicy: "Maybe" },
      'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      "zero skew",
      { containers: [container], topologySpreadConstraints: [{ maxSkew: 0, topologyKey: "z" }] },
      "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
    ],
    [
      "an unknown operator in what a spread counts",
      {
        containers: [container],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "z",
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchExpressions: [{ key: "a", operator: "Near" }] },
          },
        ],
      },
      'spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
    ],
    [
      "an empty In in what neighbours are looked for",
      {
        containers: [container],
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                podAffinityTerm: {
                  topologyKey: "z",
                  labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
                },
              },
            ],
          },
        },
      },
      "preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      "an empty In",
      {
        containers: [container],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In" }] }],
            },
          },
        },
      },
      "must be specified when `operator` is 'In' or 'NotIn'",
    ],
  ])("with %s are refused", (_what, spec, text) => {
    expect(create("", "pods", { spec }).errors.join("\n")).toContain(text);
  });

  it("can change image, deadline and added tolerations, and nothing else", () => {
    const before = { spec: { containers: [container] } };
    expect(
      update("", "pods", before, {
        spec: { containers: [{ ...container, image: "b:1", imagePullPolicy: "Always" }] },
      }),
    ).toEqual([]);
    expect(
      update("", "pods", before, {
        spec: { ...before.spec, tolerations: [{ operator: "Exists" }] },
      }),
    ).toEqual([]);
    const [error] = update("", "pods", before, { spec: { ...before.spec, hostNetwork: true } });
    expect(error).toContain("spec: Forbidden: pod updates may not change fields other than");
  });
});

describe("workloads in the built-in registry", () => {
  it("get their defaults", () => {
    const { object, errors } = create("apps", "deployments", { spec: { selector, template } });
    expect(errors).toEqual([]);
    expect(object.spec).toMatchObject({
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" },
      },
    });
    const daemonSet = create("apps", "daemonsets", { spec: { selector, template } });
    expect(daemonSet.object.spec.updateStrategy.rollingUpdate).toEqual({
      maxUnavailable: 1,
      maxSurge: 0,
    });
    const statefulSet = create("apps", "statefulsets", { spec: { selector, template } });
    expect(statefulSet.object.spec).toMatchObject({
      podManagementPolicy: "OrderedReady",
      replicas: 1,
    });
  });

  it("must select their own pods, by a selector that cannot change", () => {
    const other = { matchLabels: { app: "y" } };
    expect(create("apps", "replicasets", { spec: { selector: other, template } }).errors).toEqual([
      'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`',
    ]);
    expect(create("apps", "deployments", { spec: { template } }).errors).toContain(
      "spec.selector: Required value",
    );
    const relabelled = { ...template, metadata: { labels: { app: "y" } } };
    const errors = update(
      "apps",
      "deployments",
      { spec: { selector, template } },
      { spec: { selector: other, template: relabelled } },
    );
    expect(errors).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable',
    ]);
  });

  it("cannot change the fixed fields of a StatefulSet", () => {
    const before = { spec: { selector, template, serviceName: "a" } };
    const [error] = update("apps", "statefulsets", before, {
      spec: { ...before.spec, serviceName: "b" },
    });
    expect(error).toContain("spec: Forbidden: updates to statefulset spec for fields other than");
  });

  it("of kind StatefulSet may mount the claims that they declare", () => {
    const mounting = (name: string) => {
      const [container] = template.spec.containers;
      const containers = [{ ...container, volumeMounts: [{ name, mountPath: "/data" }] }];
      const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: {} }];
      const spec = { ...template.spec, containers };
      return create("apps", "statefulsets", {
        spec: { selector, template: { ...template, spec }, volumeClaimTemplates },
      }).errors;
    };
    expect(mounting("data")).toEqual([]);
    expect(mounting("other")).toEqual([
      'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "other"',
    ]);
  });

  it("of kind Job select their pods by the Job's UID", () => {
    const job = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
    const metadata = { name: "j", namespace: "default", uid: "u-1" };
    const { object, errors } = create("batch", "jobs", { metadata, spec: { template: job } });
    expect(errors).toEqual([]);
    expect(object.spec.selector.matchLabels).toEqual({
      "batch.kubernetes.io/controller-uid": "u-1",
    });
    expect(object.spec.template.metadata.labels).toMatchObject({ app: "x", "job-name": "j" });
    expect(create("batch", "jobs", { spec: { template } }).errors[0]).toContain(
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    );
  });
});

describe("the schedule of a CronJob", () => {
  const jobTemplate = { spec: { template } };
  const cronJob = (spec: object) => ({ spec: { jobTemplate, ...spec } });

  it("cannot contain a time zone if it is new, and may keep an old one without the field timeZone", () => {
    const schedule = "TZ=UTC 0 0 * * *";
    const made = create("batch", "cronjobs", cronJob({ schedule })).errors;
    expect(made.join()).toContain("cannot use TZ or CRON_TZ in schedule, use timeZone field");
    const change = (spec: object) =>
      update("batch", "cronjobs", cronJob({ schedule }), cronJob({ schedule, ...spec }));
    expect(change({ suspend: true }).join()).not.toContain("TZ");
    expect(change({ timeZone: "Etc/UTC" }).join()).toContain("cannot use both timeZone field");
  });

  it.each([
    ["", "timeZone must be nil or non-empty string"],
    ["local", "timeZone must be an explicit time zone"],
    ["Mars/Olympus", "unknown time zone Mars/Olympus"],
  ])("is refused with the time zone %j", (timeZone, words) => {
    const { errors } = create("batch", "cronjobs", cronJob({ schedule: "@daily", timeZone }));
    expect(errors.join()).toContain(words);
  });
});

describe("other kinds in the built-in registry", () => {
  it("get the fields that kube-apiserver sets at creation", () => {
    expect(create("", "namespaces", {}).object).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "x" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    const service = create("", "services", { spec: { ports: [{ port: 80 }] } }).object;
    expect(service.spec.clusterIP).toMatch(/^10\.(9[6-9]|10\d|11[01])\.\d+\.\d+$/);
    expect(service.spec.ports[0]).toEqual({ port: 80, protocol: "TCP", targetPort: 80 });
    // Clients in Go write a target port that is not set as 0.
    const zero = create("", "services", { spec: { ports: [{ port: 80, targetPort: 0 }] } }).object;
    expect(zero.spec.ports[0]).toEqual({ port: 80, protocol: "TCP", targetPort: 80 });
    const status = { capacity: { cpu: 4 } };
    expect(create("", "nodes", { status }).object.status.allocatable).toEqual({ cpu: "4" });
    expect(create("", "secrets", { stringData: { a: "b" } }).object).toMatchObject({
      type: "Opaque",
      data: { a: "Yg==" },
    });
  });

  it.each<[string, string, Raw, string]>([
    [
      "policy",
      "poddisruptionbudgets",
      { spec: { minAvailable: 1, maxUnavailable: 1 } },
      "minAvailable and maxUnavailable cannot be both set",
    ],
    [
      "scheduling.k8s.io",
      "priorityclasses",
      { value: 2_000_000_000 },
      "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ],
    [
      "",
      "nodes",
      { spec: { taints: [{ key: "a", effect: "Never" }] } },
      'metadata.taints[0].effect: Unsupported value: "Never"',
    ],
    [
      "",
      "persistentvolumeclaims",
      { spec: {} },
      "spec.accessModes: Required value: at least 1 access mode is required",
    ],
    ["storage.k8s.io", "storageclasses", {}, "provisioner: Required value"],
    [
      "rbac.authorization.k8s.io",
      "clusterroles",
      { aggregationRule: {} },
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector",
    ],
    [
      "rbac.authorization.k8s.io",
      "clusterroles",
      {
        aggregationRule: {
          clusterRoleSelectors: [{ matchExpressions: [{ key: "a", operator: "Is" }] }],
        },
      },
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is"',
    ],
    [
      "",
      "configmaps",
      { metadata: { name: "A_b" } },
      'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain',
    ],
    [
      "",
      "configmaps",
      { metadata: { name: "a", labels: { "b c": "d" } } },
      'metadata.labels: Invalid value: "b c": name part must consist of',
    ],
    [
      "",
      "configmaps",
      { metadata: { name: "a", annotations: { big: "x".repeat(300_000) } } },
      "metadata.annotations: Too long: may not be more than 262144 bytes",
    ],
  ])("%s/%s with an invalid field is refused", (group, plural, fields, text) => {
    expect(create(group, plural, fields).errors.join("\n")).toContain(text);
  });
});

function widgets(fields: Raw = {}): Raw {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
      versions: [
        {
          name: "v1beta1",
          served: true,
          storage: false,
          deprecated: true,
          schema: { openAPIV3Schema: { type: "object" } },
        },
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              required: ["spec"],
              properties: {
                spec: {
                  type: "object",
                  properties: {
                    size: { type: "integer", default: 3, maximum: 9 },
                    name: {
                      type: "string",
                      "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "stays" }],
                    },
                  },
                },
                status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              },
            },
          },
        },
      ],
      ...fields,
    },
  };
}

describe("custom kinds in the registry", () => {
  const custom = createRegistry({ kubernetesVersion: "1.34" });
  custom.setCrds([establish(widgets(), 0)]);
  const v1 = custom.find("example.com", "v1", "widgets")!;
  const widget = (spec: Raw, status?: Raw): Raw => ({
    metadata: { name: "w" },
    spec,
    ...(status ? { status } : {}),
  });

  it("are served in each version, the preferred one first, and stored in one", () => {
    const versions = custom.list().filter(({ group }) => group === "example.com");
    expect(versions.map(({ version }) => version)).toEqual(["v1", "v1beta1"]);
    expect(versions.map(({ storageVersion }) => storageVersion)).toEqual(["v1", "v1"]);
    expect(versions[1]?.warning).toBe("example.com/v1beta1 Widget is deprecated");
    expect(versions[0]?.conversion).toEqual({ strategy: "None" });
  });

  it("are pruned, defaulted and validated by their schema", () => {
    const { value, unknown } = v1.prune(widget({ sise: 1 }, { any: 1 }));
    expect(unknown).toEqual(["spec.sise"]);
    expect(v1.applyDefaults(value)).toMatchObject({ spec: { size: 3 }, status: { any: 1 } });
    expect(v1.prepareCreate(value)).not.toHaveProperty("status");
    expect(v1.validate(widget({ size: 10 }), undefined).map(printFieldError)).toEqual([
      "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9",
    ]);
    expect(v1.validate(widget({ size: "x" }), undefined).map(printFieldError)[1]).toContain(
      "some validation rules were not checked because the object was invalid",
    );
  });

  it("keep the status on an update of the main resource, and rules check the change", () => {
    const current = widget({ name: "a" }, { ready: true });
    expect(v1.prepareUpdate(widget({ name: "a" }, { ready: false }), current)).toEqual(current);
    expect(v1.validate(widget({ name: "b" }), current).map(printFieldError)).toEqual([
      'spec.name: Invalid value: "string": stays',
    ]);
  });

  it("do not report old errors on an update that leaves the field unchanged", () => {
    expect(v1.validate(widget({ size: 10, name: "a" }), widget({ size: 10, name: "a" }))).toEqual(
      [],
    );
  });

  it("keep their definitions while the spec is unchanged, and disappear with their CRD", () => {
    custom.setCrds([establish(widgets(), 99)]);
    expect(custom.find("example.com", "v1", "widgets")).toBe(v1);
    custom.setCrds([]);
    expect(custom.find("example.com", "v1", "widgets")).toBeUndefined();
  });

  it("are established unless another CRD has one of their names", () => {
    const first = establish(widgets(), 0) as Raw;
    expect(first.status).toMatchObject({
      storedVersions: ["v1"],
      conditions: [
        { type: "NamesAccepted", status: "True" },
        { type: "Established", status: "True" },
      ],
    });
    expect(establish(first, 5)).toBe(first);
    const second = {
      ...widgets({ names: { plural: "wds", kind: "Widget" } }),
      metadata: { name: "wds.example.com" },
    };
    const refused = establish(second, 0, [first]) as Raw;
    expect(refused.status.conditions[0]).toMatchObject({
      status: "False",
      reason: "KindConflict",
      message: '"Widget" is already in use',
    });
    custom.setCrds([first, refused]);
    expect(custom.find("example.com", "v1", "wds")).toBeUndefined();
    // The names of a CRD may still change if it was never served.
    const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")!;
    const renamed = widgets({ names: { plural: "wds", kind: "Other" } });
    const problems = (from: KubeObject) =>
      crds.validate({ ...renamed, metadata: from.metadata }, from);
    expect(problems(refused)).toEqual([]);
    const served = establish({ ...second, metadata: refused.metadata }, 0, []);
    expect(problems(served).map(({ field }) => field)).toEqual(["spec.names.kind"]);
  });

  it("are refused with an unusable definition", () => {
    const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")!;
    const broken = widgets({
      group: "other.com",
      versions: [
        {
          name: "v1",
          served: true,
          storage: false,
          schema: {
            openAPIV3Schema: { type: "object", "x-kubernetes-validations": [{ rule: "self.(" }] },
          },
        },
      ],
    });
    const errors = crds.validate(broken, undefined).map(printFieldError).join("\n");
    expect(errors).toContain(
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
    );
    expect(errors).toContain("must have exactly one version marked as storage version");
    expect(errors).toContain("x-kubernetes-validations[0].rule");
  });
});

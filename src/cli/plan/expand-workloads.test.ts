import { describe, expect, it } from "vitest";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { VolumeIndex } from "../../core/scheduling/volumes.ts";
import { objectsOf } from "./documents.ts";
import { type Expanded, expandWorkloads } from "./expand-workloads.ts";
import { type Manifests, sortManifests } from "./manifests.ts";

const TEMPLATE =
  "template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}";
const SELECTOR = "selector: {matchLabels: {app: w}}";

function read(documents: readonly string[]): Manifests {
  return sortManifests(objectsOf("app.yaml", documents.join("\n---\n")));
}

function expand(...documents: readonly string[]): Expanded {
  return expandWorkloads(read(documents));
}

function names({ pods }: Expanded): string[] {
  return pods.map(({ metadata }) => metadata.name);
}

function job(spec: string, status = "{}"): string {
  const pod = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}";
  return `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {${spec}${pod}}, status: ${status}}`;
}

function set(name: string, spec: string): string {
  return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: ${name}}, spec: {serviceName: s, ${spec}, ${SELECTOR}, ${TEMPLATE}}}`;
}

function pod(name: string, metadata = "", spec = ""): string {
  return `{apiVersion: v1, kind: Pod, metadata: {name: ${name}${metadata}}, spec: {${spec}containers: [{name: c, image: i}]}}`;
}

function ownedBy(kind: string, name: string): string {
  return `, ownerReferences: [{apiVersion: apps/v1, kind: ${kind}, name: ${name}, uid: u, controller: true}]`;
}

describe("the planned pods of a Job", () => {
  it("are as many as may run in parallel, at most the missing completions", () => {
    expect(names(expand(job("parallelism: 3, completions: 4, ")))).toHaveLength(3);
    const status = "{succeeded: 3}";
    expect(names(expand(job("parallelism: 3, completions: 4, ", status)))).toEqual(["j-0"]);
    expect(names(expand(job("suspend: true, ")))).toEqual([]);
  });

  it("are none if the Job is complete or has failed", () => {
    for (const type of ["Complete", "Failed"]) {
      const status = `{conditions: [{type: ${type}, status: "True"}]}`;
      expect(names(expand(job("", status)))).toEqual([]);
    }
  });
});

describe("the planned pods of a CronJob", () => {
  const template = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}";
  const cronJob = (spec = "") =>
    `{apiVersion: batch/v1, kind: CronJob, metadata: {name: report}, spec: {schedule: "0 * * * *", ${spec}jobTemplate: {spec: {parallelism: 2, ${template}}}}}`;
  const madeBy = ownedBy("CronJob", "report");
  const run = (spec: string) =>
    `{apiVersion: batch/v1, kind: Job, metadata: {name: report-29000000${madeBy}}, spec: {${spec}${template}}}`;

  it("are those of one run, with the labels of a Job", () => {
    const { pods } = expand(cronJob());
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(["report-next-0", "report-next-1"]);
    expect(pods[0]?.metadata.labels).toMatchObject({ "job-name": "report-next" });
    expect(names(expand(cronJob("suspend: true, ")))).toEqual([]);
  });

  it("are none while a Job of the CronJob, or a pod of such a Job, is there", () => {
    expect(names(expand(cronJob(), run("")))).toEqual(["report-29000000-0"]);
    expect(names(expand(cronJob(), run("suspend: true, ")))).toHaveLength(2);
    const there = pod("report-29000000-x", ownedBy("Job", "report-29000000"));
    expect(names(expand(cronJob(), there))).toEqual(["report-29000000-x"]);
    const other = pod("report-1-x", ownedBy("Job", "report-1"));
    expect(names(expand(cronJob(), other))).toHaveLength(3);
  });

  it("come with a note that the run counts as if it began now", () => {
    expect(expand(cronJob()).notes).toEqual([
      "the next run counts as if it began now, also in the price of a month: CronJob default/report",
    ]);
    expect(expand(cronJob("suspend: true, ")).notes).toEqual([]);
  });
});

describe("the planned pods of a ReplicationController", () => {
  it("are its missing replicas", () => {
    const controller = `{apiVersion: v1, kind: ReplicationController, metadata: {name: old}, spec: {replicas: 3, selector: {app: w}, ${TEMPLATE}}}`;
    const there = pod("old-x", ownedBy("ReplicationController", "old"));
    expect(names(expand(controller, there))).toEqual(["old-x", "old-0", "old-1"]);
  });
});

describe("an autoscaler in the input of a plan", () => {
  const web = (replicas: string) =>
    `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {${replicas}${SELECTOR}, ${TEMPLATE}}}`;
  const autoscaler = (version: string, name = "web", own = "a", least = 3, most = 5) =>
    `{apiVersion: autoscaling/${version}, kind: HorizontalPodAutoscaler, metadata: {name: ${own}}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ${name}}, minReplicas: ${least}, maxReplicas: ${most}}}`;
  const count = (...documents: readonly string[]) => names(expand(...documents)).length;

  it("keeps the replicas of its workload within its bounds, unless they are zero", () => {
    expect(count(web(""), autoscaler("v2"))).toBe(3);
    expect(count(web("replicas: 9, "), autoscaler("v1"))).toBe(5);
    expect(count(web("replicas: 0, "), autoscaler("v2"))).toBe(0);
    expect(count(web(""), autoscaler("v2", "other"))).toBe(1);
  });

  it("beside another autoscaler of the same workload: both bounds apply, and the larger result wins", () => {
    const both = (least: number, most: number) => [
      autoscaler("v2", "web", "b", least, most),
      autoscaler("v2"),
    ];
    expect(count(web("replicas: 9, "), ...both(1, 4))).toBe(4);
    expect(count(web("replicas: 1, "), ...both(1, 4))).toBe(3);
    expect(count(web("replicas: 4, "), ...both(7, 8))).toBe(7);
    expect(count(web("replicas: 4, "), ...both(1, 2))).toBe(3);
  });
});

describe("the planned pods of a StatefulSet", () => {
  it("keep their fixed names, and the pods of a Deployment with the same name get later numbers", () => {
    const deployment = set("w", "replicas: 2")
      .replace("StatefulSet", "Deployment")
      .replace("serviceName: s, ", "");
    const found = names(expand(deployment, set("w", "replicas: 2")));
    expect(found.toSorted()).toEqual(["w-0", "w-1", "w-2", "w-3"]);
  });

  it("are those whose names are missing, from the first ordinal on", () => {
    const there = pod("db-6", ownedBy("StatefulSet", "db"), "nodeName: n1, ");
    const documents = [set("db", "replicas: 3, ordinals: {start: 5}"), there];
    expect(names(expand(...documents))).toEqual(["db-6", "db-5", "db-7"]);
  });
});

describe("the planned pods of a Deployment", () => {
  it("count pods of its ReplicaSet, even if the ReplicaSet is not in the input", () => {
    const labels = ", labels: {app: w, pod-template-hash: abc}";
    const there = pod("web-abc-x", `${labels}${ownedBy("ReplicaSet", "web-abc")}`);
    const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, ${SELECTOR}, ${TEMPLATE}}}`;
    expect(names(expand(web, there))).toEqual(["web-abc-x", "web-0"]);
  });
});

describe("the planned pods of workloads in a live cluster", () => {
  it("are the existing pods, whatever the replicas say", () => {
    const replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 3, ${SELECTOR}, ${TEMPLATE}}}`;
    const live = [replicaSet, set("db", "replicas: 3"), pod("web-x", ownedBy("ReplicaSet", "web"))]
      .flatMap((text) => objectsOf("cluster", text))
      .map(({ where, object }) => {
        const metadata = { ...object.metadata, namespace: "default" };
        return { where, object: { ...object, metadata }, live: true as const };
      });
    const manifests = sortManifests(live);
    expect(names(expandWorkloads(manifests))).toEqual(["web-x"]);
    expect(manifests.liveWorkloads.map(({ kind }) => kind)).toEqual(["ReplicaSet", "StatefulSet"]);
    const applied = sortManifests([...live, ...objectsOf("app.yaml", set("db", "replicas: 2"))]);
    expect(names(expandWorkloads(applied))).toEqual(["web-x", "db-0", "db-1"]);
    expect(applied.liveWorkloads.map(({ kind }) => kind)).toEqual(["ReplicaSet"]);
  });
});

describe("the planned pods of workloads that own each other", () => {
  it("are created as usual", () => {
    const replicaSet = (name: string, owner: string) =>
      `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: ${name}${ownedBy("ReplicaSet", owner)}}, spec: {replicas: 1, ${SELECTOR}, ${TEMPLATE}}}`;
    const there = pod("x", ownedBy("ReplicaSet", "a"));
    expect(names(expand(replicaSet("a", "b"), replicaSet("b", "a"), there))).toEqual(["x"]);
  });
});

describe("a planned pod that does not exist in a cluster", () => {
  it("gets the LimitRanges' defaults for containers without requests and limits", () => {
    const range =
      "{apiVersion: v1, kind: LimitRange, metadata: {name: r}, spec: {limits: [{type: Container, defaultRequest: {cpu: 250m}}]}}";
    const { pods } = expand(range, pod("new"), pod("there", ", uid: u"));
    expect(pods.map((one) => podRequests(one)["cpu"])).toEqual([250, undefined]);
    const before = range.replace("name: r", "name: q").replace("250m", "100m");
    const [first] = expand(range, before, pod("new")).pods;
    expect(first && podRequests(first)["cpu"]).toBe(100);
    const elsewhere = pod("new", ", namespace: other");
    expect(expand(range, elsewhere).pods.map((one) => podRequests(one)["cpu"])).toEqual([
      undefined,
    ]);
  });

  it("gets the priority of its class, else of the default class; Kubernetes' own classes always exist", () => {
    const priorityClass = (name: string, more: string) =>
      `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: ${name}}, ${more}}`;
    const some = [
      pod("named", "", "priorityClassName: high, "),
      pod("plain"),
      pod("own", "", "priority: 7, "),
      pod("critical", "", "priorityClassName: system-cluster-critical, "),
    ];
    const of = (...classes: readonly string[]) => {
      const { pods } = expand(...classes, ...some);
      const found = new Map(pods.map(({ metadata, spec }) => [metadata.name, spec.priority]));
      return ["named", "plain", "own", "critical"].map((name) => found.get(name));
    };
    const classes = [
      priorityClass("high", "value: 1000"),
      priorityClass("usual", "value: 50, globalDefault: true"),
    ];
    expect(of(...classes)).toEqual([1_000, 50, 7, 2_000_000_000]);
    const [high = ""] = classes;
    expect(of(high)).toEqual([1_000, undefined, 7, 2_000_000_000]);
    expect(of(high, priorityClass("system-cluster-critical", "value: 3"))[3]).toBe(3);
    const least = priorityClass("z-least", "value: -5, globalDefault: true");
    expect(of(...classes, least)[1]).toBe(-5);
  });

  it("is refused if the input lacks its priority class, unless the pod was already admitted", () => {
    const classy = (text: string) =>
      text.replace("containers:", "priorityClassName: gold, containers:");
    const told = (where: string) =>
      `app.yaml, document 2: ${where}.priorityClassName: no PriorityClass "gold" in the input, and the API server lets no pod in without it; add it with -f`;
    const second = (text: string) => () => expand(pod("first"), classy(text));
    const golden =
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: golds}, value: 1}";
    expect(() => expand(golden, classy(pod("p")))).toThrow(
      "lets no pod in without it; did you mean golds? Or add it with -f",
    );
    const runtime =
      "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: gvisor}, handler: runsc}";
    expect(() => expand(runtime, pod("p", "", "runtimeClassName: gviser, "))).toThrow(
      'no RuntimeClass "gviser" in the input, and the API server lets no pod in without it; did you mean gvisor? Or',
    );
    expect(second(pod("p"))).toThrow(told("Pod p: spec"));
    expect(second(set("db", "replicas: 1"))).toThrow(told("StatefulSet db: spec.template.spec"));
    const daemons = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {${SELECTOR}, ${TEMPLATE}}}`;
    expect(second(daemons)).toThrow(told("DaemonSet d: spec.template.spec"));
    const cron = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: c}, spec: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`;
    expect(second(cron)).toThrow(told("CronJob c: spec.jobTemplate.spec.template.spec"));
    expect(second(pod("p", ", uid: u"))).not.toThrow();
    expect(second(pod("p", "", "priority: 7, "))).not.toThrow();
    expect(second(set("db", "replicas: 0"))).not.toThrow();
  });
});

describe("more pods than a plan allows", () => {
  const deployment = (name: string, replicas: number) =>
    `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ${name}}, spec: {replicas: ${replicas}, ${SELECTOR}, ${TEMPLATE}}}`;

  it("are refused before any pod is created, by the number in the whole input", () => {
    const limit = "pods of the whole input, and a plan takes at most 5000000; lower it, or plan";
    expect(() => expand(pod("p"), deployment("web", 2_000_000_000))).toThrow(
      `app.yaml, document 2: Deployment web: spec.replicas: 2000000000, which makes 2000000001 ${limit}`,
    );
    expect(() =>
      expand(deployment("a", 2_000_000), deployment("b", 2_000_001), deployment("c", 1_000_000)),
    ).toThrow(`document 2: Deployment b: spec.replicas: 2000001, which makes 5000001 ${limit}`);
    expect(() => expand(job("parallelism: 6000000, "))).toThrow("Job j: spec.parallelism: 6000000");
    const scaler =
      "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 6000000, maxReplicas: 7000000}}";
    expect(() => expand(deployment("web", 1), scaler)).toThrow(
      "Deployment web: spec.replicas, by spec.minReplicas of HorizontalPodAutoscaler h: 6000000",
    );
  });
});

describe("volume claims of planned pods", () => {
  const storageClass = (name: string, metadata = "") =>
    `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ${name}${metadata}}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}`;
  const isDefault = ', annotations: {storageclass.kubernetes.io/is-default-class: "true"}';
  const claimSpec = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}";

  it("are created for pods and StatefulSets, with the default class if they name none", () => {
    const ephemeral = `volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {${claimSpec}}}}}], `;
    const templates = `volumeClaimTemplates: [{metadata: {name: data}, ${claimSpec}}}]`;
    const { volumeClaims } = expand(
      storageClass("old", `${isDefault}, creationTimestamp: 2025-01-01T00:00:00Z`),
      storageClass("new", `${isDefault}, creationTimestamp: 2026-01-01T00:00:00Z`),
      pod("p", "", ephemeral),
      set("db", `replicas: 1, ${templates}`),
    );
    const found = volumeClaims.map(({ metadata, spec }) => [metadata.name, spec.storageClassName]);
    expect(found).toEqual([
      ["data-db-0", "new"],
      ["p-scratch", "new"],
    ]);
  });

  it("keep the class that they name, and get none if they already name a volume", () => {
    const claim = (name: string, spec: string) =>
      `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ${name}}, ${claimSpec}, ${spec}}}`;
    const { volumeClaims } = expand(
      storageClass("default", isDefault),
      claim("of-another", "storageClassName: other"),
      claim("of-none", 'storageClassName: ""'),
      claim("with-volume", "volumeName: pv"),
      claim("says-nothing", 'volumeName: ""'),
    );
    const found = volumeClaims.map(({ metadata, spec }) => [metadata.name, spec.storageClassName]);
    expect(found).toEqual([
      ["of-another", "other"],
      ["of-none", ""],
      ["says-nothing", "default"],
      ["with-volume", undefined],
    ]);
  });

  it("are bound if they name a volume of the input", () => {
    const claim = (name: string, volume: string) =>
      `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ${name}}, ${claimSpec}, volumeName: ${volume}}}`;
    const volume =
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: ebs.csi.aws.com, volumeHandle: h}}}";
    const using = (name: string) =>
      pod(name, "", `volumes: [{name: v, persistentVolumeClaim: {claimName: ${name}}}], `);
    const manifests = read([
      volume,
      claim("bound", "pv"),
      claim("lost", "gone"),
      using("bound"),
      using("lost"),
    ]);
    const { pods, volumeClaims } = expandWorkloads(manifests);
    const { volumes, csiNodes } = manifests;
    const index = new VolumeIndex({ claims: volumeClaims, volumes, classes: [], csiNodes });
    expect(pods.map((one) => index.refusal(one))).toEqual([
      undefined,
      expect.stringContaining("pvc is considered unbound because it does not contain annotation"),
    ]);
  });
});

describe("the planned pods of a namespace with a ResourceQuota", () => {
  const quota = (hard: string, status = "{}") =>
    `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: ${hard}}, status: ${status}}`;
  const limits = `{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, defaultRequest: {cpu: "1"}}]}}`;
  const web = (name: string) =>
    `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ${name}}, spec: {replicas: 3, ${SELECTOR}, ${TEMPLATE}}}`;
  const letsIn = (count: string, name: string) =>
    `ResourceQuota default/q lets in ${count} of 3 new pods of Deployment ${name}; the others would not be created, so they are not planned`;

  it("are those that it lets in, with the requests of the LimitRange, and a note says so", () => {
    const { pods, notes } = expand(web("a"), web("b"), quota('{requests.cpu: "4"}'), limits);
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(["a-0", "a-1", "a-2", "b-0"]);
    expect(notes).toEqual([letsIn("1", "b")]);
  });

  it("are none if a container does not set what it limits, and a note says what to set", () => {
    const { pods, notes } = expand(web("a"), quota('{cpu: "4", limits.memory: 4Gi}'));
    expect(pods).toEqual([]);
    expect(notes).toEqual([
      "ResourceQuota default/q refuses the new pods of Deployment a, so they are not planned: each container must set requests.cpu, limits.memory",
    ]);
  });

  it("count beside the used amounts of a live cluster", () => {
    const used = '{hard: {pods: "5"}, used: {pods: "4"}}';
    const { pods, notes } = expand(web("a"), web("b"), quota('{pods: "5"}', used));
    expect(pods).toHaveLength(1);
    expect(notes).toEqual([letsIn("1", "a"), letsIn("none", "b")]);
  });

  it("are all pods if it has room, or if it is in another namespace", () => {
    const other = quota('{pods: "1"}').replace("{name: q}", "{name: q, namespace: other}");
    expect(expand(web("a"), quota('{pods: "9"}'), other)).toMatchObject({
      pods: [{}, {}, {}],
      notes: [],
    });
  });
});

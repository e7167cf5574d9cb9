/**
 * Stories of workloads, played step by step on any control plane. A step writes objects, makes pods ready or ends
 * them. No kubelet and no scheduler run, so nothing is left to chance. After each step, once nothing changes any
 * more, the state is written as lines without random names and times (story-lines.ts).
 */
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import type { Transport } from "../../../src/kube/transport/transport.ts";
import {
  imageOf,
  leaves,
  lineOf,
  nodeFor,
  orderOf,
  ownerOf,
  podLines,
  stateOf,
} from "./story-lines.ts";

export type Step =
  /** Creates an object in the story's namespace, or creates a Node. */
  | { readonly create: object }
  /** Applies a merge patch to an object such as `deployments/web` or `pods/x-0/status`. */
  | { readonly patch: string; readonly with: object }
  | { readonly delete: string; readonly cascade?: "Orphan" | "Foreground" }
  /** Binds pods and makes them ready: the first `count` (default all) with this image that are not ready. */
  | { readonly ready: string; readonly count?: number }
  /** Makes ready pods with this image not ready. */
  | { readonly breaks: string; readonly count?: number }
  /** Ends running pods with success or failure. */
  | { readonly end: "Succeeded" | "Failed"; readonly count?: number; readonly exitCode?: number }
  /** Removes terminating pods. */
  | { readonly gone: "all" | number }
  /** Evicts up to `count` ready pods, as a drain does, and writes down the answers. */
  | { readonly evict: number }
  /** Sets the usage of the first `count` (default all) running pods, as the metrics API reports it. */
  | { readonly uses: string; readonly of?: string; readonly count?: number }
  /** Waits for this many milliseconds. */
  | { readonly wait: number }
  /** Waits until this many milliseconds after the next full minute. */
  | { readonly minute: number };

export interface Story {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** A control plane with the workload controllers. */
export interface Stage {
  readonly transport: Transport;
  /** Waits at least `ms`, and until nothing changes any more. */
  settle(ms: number, look: () => Promise<string>): Promise<void>;
  /** Waits until the controllers have reacted to one pod's change, before the next pod changes. */
  pause(): Promise<void>;
}

/** The least duration of a step: longer than the controllers' own delays, shorter than their backoffs. */
const STEP_MS = 1_000;
const MINUTE_MS = 60_000;

interface Look {
  readonly pods: readonly Pod[];
  readonly lines: readonly string[];
}

/** Plays the story; resolves to the state after each step. */
export async function tell(stage: Stage, { name, steps }: Story): Promise<readonly string[][]> {
  const teller = new Teller(stage, `s-${name}`);
  await teller.begin();
  const told: string[][] = [];
  for (const step of steps) {
    const said = await teller.act(step);
    const ms = "wait" in step ? step.wait : "minute" in step ? await teller.until(step) : STEP_MS;
    await stage.settle(ms, async () => (await teller.look()).lines.join("\n"));
    told.push([...said, ...(await teller.look()).lines]);
  }
  return told;
}

/** A Job named after the minute for which it was due. */
const TIMED_NAME = /\bweb-\d{8}\b/g;
/** A generated pod name. Pods of StatefulSets have fixed names. */
const RANDOM_NAME = /\bweb-(?:\d{8}-)?[bcdfghjklmnpqrstvwxz2456789]{5}\b/g;
/** A pod that was refused at creation, after the name of its set. */
const REFUSED_POD = /(@app:\d+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g;
/** The controller lists the autoscalers in the order of a Go map. */
const MANY_AUTOSCALERS = /(controlled by multiple HPAs: \[)([^\]]+)/g;
/** The name of a ReplicaSet that was deleted, so its image is unknown. */
const GONE_SET = /\bweb-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g;

const METRICS = "/apis/metrics.k8s.io/v1beta1";

/** Lets a server without a metrics server store the usage that stories set. */
export const METRICS_KIND: KubeObject & { readonly spec: object } = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "pods.metrics.k8s.io",
    annotations: { "api-approved.kubernetes.io": "unapproved, of a test" },
  },
  spec: {
    group: "metrics.k8s.io",
    scope: "Namespaced",
    names: { plural: "pods", kind: "PodMetrics" },
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};

const APPS = ["deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"];

class Teller {
  readonly #stage: Stage;
  readonly #namespace: string;
  /** Pods in the order in which they were first seen. */
  readonly #seen: string[] = [];

  constructor(stage: Stage, namespace: string) {
    this.#stage = stage;
    this.#namespace = namespace;
  }

  async begin(): Promise<void> {
    const metadata = { name: this.#namespace };
    await this.#call("POST", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata,
    });
    await this.#call("POST", this.#path("serviceaccounts"), {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default" },
    }).catch(() => undefined);
  }

  async act(step: Step): Promise<string[]> {
    if ("create" in step) {
      const object = step.create as KubeObject;
      const path = object.kind === "Node" ? "/api/v1/nodes" : this.#path(pluralOf(object.kind));
      await this.#call("POST", path, object);
    } else if ("patch" in step) await this.#call("PATCH", this.#at(step.patch), step.with);
    else if ("delete" in step) {
      const propagationPolicy = step.cascade ?? "Background";
      await this.#call("DELETE", this.#at(step.delete), { propagationPolicy });
    } else if ("ready" in step) {
      const waiting = (pod: Pod): boolean =>
        stateOf(pod) === "pending" || stateOf(pod) === "running";
      await this.#each(waiting, step.ready, step.count, (pod) => this.#run(pod, true));
    } else if ("breaks" in step) {
      const isReady = (pod: Pod): boolean => stateOf(pod) === "ready";
      await this.#each(isReady, step.breaks, step.count, (pod) => this.#run(pod, false));
    } else if ("end" in step) {
      const runs = (pod: Pod): boolean => ["ready", "running"].includes(stateOf(pod));
      await this.#each(runs, "", step.count, (pod) => this.#end(pod, step.end, step.exitCode));
    } else if ("gone" in step) {
      const count = step.gone === "all" ? undefined : step.gone;
      await this.#each(leaves, "", count, (pod) =>
        this.#call("DELETE", `${this.#path("pods")}/${pod.metadata.name}`, {
          gracePeriodSeconds: 0,
        }),
      );
    } else if ("uses" in step) await this.#measure(step.of ?? "cpu", step.uses, step.count);
    else if ("evict" in step) return this.#evict(step.evict);
    return [];
  }

  /** The time (ms) until `minute` ms after the next full minute. */
  async until({ minute }: { readonly minute: number }): Promise<number> {
    return MINUTE_MS - ((await this.#now()) % MINUTE_MS) + minute;
  }

  async look(): Promise<Look> {
    const pods = await this.#pods();
    const objects = await Promise.all([
      ...APPS.map((plural) => this.#list(`/apis/apps/v1/namespaces/${this.#namespace}/${plural}`)),
      ...["jobs", "cronjobs"].map((plural) =>
        this.#list(`/apis/batch/v1/namespaces/${this.#namespace}/${plural}`),
      ),
      this.#list(`/apis/policy/v1/namespaces/${this.#namespace}/poddisruptionbudgets`),
      this.#list(this.#path("horizontalpodautoscalers")),
      this.#list(this.#path("persistentvolumeclaims")),
      this.#list(this.#path("endpoints")),
      this.#list(`/apis/discovery.k8s.io/v1/namespaces/${this.#namespace}/endpointslices`),
    ]);
    const names = new Map<string, string>();
    for (const [at, list] of objects.entries())
      for (const one of list) {
        const image = imageOf(one);
        if (APPS[at] === "replicasets" || APPS[at] === "controllerrevisions")
          names.set(one.metadata.name, `${ownerOf(one)}@${image}`);
      }
    for (const pod of pods)
      if (pod.metadata.generateName !== undefined) names.set(pod.metadata.name, "POD");
    const plain = (text: string): string => {
      let result = text.replace(
        MANY_AUTOSCALERS,
        (_, before: string, all: string) => `${before}${all.split(" ").sort().join(" ")}`,
      );
      for (const [from, to] of names) result = result.replaceAll(from, to);
      return result
        .replace(TIMED_NAME, "web-MINUTE")
        .replace(GONE_SET, "web@gone")
        .replace(REFUSED_POD, "$1-POD");
    };
    const lines = [
      ...objects.flat().map((one) => plain(lineOf(one))),
      // Lines of pods name nodes only in these stories: elsewhere the order of nodes is chance.
      ...podLines(pods, this.#namespace.endsWith("-nodes")),
      ...new Set((await this.#events()).map(plain).sort()),
    ];
    return { pods, lines };
  }

  async #evict(count: number): Promise<string[]> {
    const answers: string[] = [];
    await this.#each(
      (pod) => stateOf(pod) === "ready" && !leaves(pod),
      "",
      count,
      async ({ metadata: { name } }) => {
        const path = `${this.#path("pods")}/${name}/eviction`;
        const metadata = { name };
        const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
        const answer = await this.#stage.transport.send({ method: "POST", path, body });
        const { message } = answer.body as { message?: string };
        answers.push(`eviction: ${answer.status}${message === undefined ? "" : ` ${message}`}`);
      },
    );
    return answers;
  }

  async #each(
    which: (pod: Pod) => boolean,
    image: string,
    count: number | undefined,
    act: (pod: Pod) => Promise<unknown>,
  ): Promise<void> {
    const matches = (pod: Pod): boolean =>
      which(pod) && (image === "" || (pod.spec.containers[0]?.image === image && !leaves(pod)));
    const chosen = (await this.#pods()).filter(matches).slice(0, count);
    for (const { metadata } of chosen) {
      // The change of an earlier pod may have changed this one.
      const pod = (await this.#pods()).find((one) => one.metadata.uid === metadata.uid);
      if (pod === undefined || !matches(pod)) continue;
      await act(pod);
      await this.#stage.pause();
    }
  }

  async #run(pod: Pod, ready: boolean): Promise<void> {
    const { name } = pod.metadata;
    if (pod.spec.nodeName === undefined) {
      const target = { apiVersion: "v1", kind: "Node", name: nodeFor(pod) };
      await this.#call("POST", `${this.#path("pods")}/${name}/binding`, {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name },
        target,
      });
    }
    const status = ready ? "True" : "False";
    await this.#status(pod, {
      phase: "Running",
      startTime: "2026-01-01T00:00:00Z",
      conditions: [
        {
          type: "Ready",
          status,
          lastTransitionTime: new Date(await this.#now()).toISOString().replace(/\.\d+/, ""),
        },
      ],
    });
  }

  async #measure(resource: string, amount: string, count: number | undefined): Promise<void> {
    const running = (await this.#pods()).filter(({ status }) => status?.phase === "Running");
    const timestamp = new Date(await this.#now()).toISOString();
    for (const { metadata } of running.slice(0, count)) {
      const { name, labels } = metadata;
      const path = `${METRICS}/namespaces/${this.#namespace}/pods`;
      await this.#stage.transport.send({ method: "DELETE", path: `${path}/${name}` });
      await this.#call("POST", path, {
        apiVersion: "metrics.k8s.io/v1beta1",
        kind: "PodMetrics",
        metadata: { name, labels },
        timestamp,
        window: "15s",
        containers: [{ name: "main", usage: { [resource]: amount } }],
      });
    }
  }

  async #end(pod: Pod, phase: string, exitCode = phase === "Failed" ? 1 : 0): Promise<void> {
    const finishedAt = new Date(await this.#now()).toISOString().replace(/\.\d+/, "");
    await this.#status(pod, {
      phase,
      conditions: [{ type: "Ready", status: "False", reason: "PodCompleted" }],
      containerStatuses: [
        {
          name: "main",
          image: "app:1",
          imageID: "",
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode, finishedAt, startedAt: finishedAt } },
        },
      ],
    });
  }

  #status({ metadata: { name } }: Pod, status: object): Promise<unknown> {
    return this.#call("PATCH", `${this.#path("pods")}/${name}/status`, { status });
  }

  /** The server's own time: the creation time of an object that it returns. */
  async #now(): Promise<number> {
    const { body } = await this.#stage.transport.send({
      method: "POST",
      path: `${this.#path("configmaps")}?dryRun=All`,
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "now" } },
    });
    return Date.parse((body as KubeObject).metadata.creationTimestamp ?? "");
  }

  async #pods(): Promise<readonly Pod[]> {
    const pods = (await this.#list(this.#path("pods"))) as Pod[];
    const fresh = pods.filter(({ metadata }) => !this.#seen.includes(metadata.uid ?? ""));
    this.#seen.push(...fresh.map(({ metadata }) => metadata.uid ?? ""));
    const at = ({ metadata }: Pod): number => this.#seen.indexOf(metadata.uid ?? "");
    return [...pods].sort((a, b) => at(a) - at(b));
  }

  async #events(): Promise<string[]> {
    const events = await this.#list(this.#path("events"));
    const lines = events.map((event) => {
      const { involvedObject, type, reason, message } = event as unknown as {
        involvedObject: { kind: string };
        type: string;
        reason: string;
        message: string;
      };
      const plain = message
        .replace(RANDOM_NAME, "POD")
        .replace(/on node ds-\S+-\d/, "on node NODE");
      return `event ${involvedObject.kind} ${type} ${reason}: ${plain}`;
    });
    const ofWorkloads =
      /^event (Deployment|StatefulSet|DaemonSet|Job|CronJob|HorizontalPodAutoscaler) /;
    return lines.filter((line) => ofWorkloads.test(line));
  }

  async #list(path: string): Promise<readonly KubeObject[]> {
    const { body } = await this.#stage.transport.send({ method: "GET", path });
    const items = [...((body as { items?: KubeObject[] }).items ?? [])];
    const kind = ((body as { kind?: string }).kind ?? "").replace(/List$/, "");
    return items
      .map((item) => ({ ...item, kind }))
      .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  }

  #path(plural: string): string {
    const group = groupOf(plural);
    return `${group}/namespaces/${this.#namespace}/${plural}`;
  }

  #at(reference: string): string {
    const [plural = "", ...rest] = reference.split("/");
    const path = plural === "nodes" ? "/api/v1/nodes" : this.#path(plural);
    return [path, ...rest].join("/");
  }

  async #call(method: "POST" | "PATCH" | "DELETE", path: string, body: object): Promise<unknown> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await this.#stage.transport.send({
      method,
      path,
      headers: { "content-type": type },
      body,
    });
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

function groupOf(plural: string): string {
  if (APPS.includes(plural)) return "/apis/apps/v1";
  if (plural === "horizontalpodautoscalers") return "/apis/autoscaling/v2";
  if (plural === "jobs" || plural === "cronjobs") return "/apis/batch/v1";
  return plural === "poddisruptionbudgets" ? "/apis/policy/v1" : "/api/v1";
}

function pluralOf(kind = ""): string {
  return `${kind.toLowerCase()}s`;
}

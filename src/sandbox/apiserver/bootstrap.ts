/**
 * What a new cluster contains before the first write: namespaces, their default service accounts, the two
 * system priority classes, roles and their bindings, ComponentStatuses, and the Service by which pods find the
 * API.
 */
import type { KubeObject } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { Random } from "../../base/random.ts";
import type { Engine } from "./engine.ts";
import { builtinAccess } from "./registry/builtin-data.ts";
import type { StoreEvent } from "./store/store.ts";

const NAMESPACES = ["default", "kube-node-lease", "kube-public", "kube-system"];

/** Values as in Kubernetes. Priority classes of users must stay below one billion. */
const PRIORITY_CLASSES: readonly (readonly [string, number, string])[] = [
  [
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ],
  [
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ],
];

/** Fills a new store, and adds a default service account to each new namespace. Returns a function that stops this. */
export function bootstrap(engine: Engine): () => void {
  const stop = engine.store.subscribe("namespaces", (event) => addServiceAccount(engine, event));
  for (const name of NAMESPACES) {
    if (engine.store.get("namespaces", undefined, name) !== undefined) continue;
    engine.store.put("namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { ...freshMeta(engine, name), labels: { "kubernetes.io/metadata.name": name } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    } as KubeObject);
  }
  const storageKey = "scheduling.k8s.io/priorityclasses";
  for (const [name, value, description] of PRIORITY_CLASSES) {
    if (engine.store.get(storageKey, undefined, name) !== undefined) continue;
    engine.store.put(storageKey, {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { ...freshMeta(engine, name), generation: 1 },
      value,
      preemptionPolicy: "PreemptLowerPriority",
      description,
    } as KubeObject);
  }
  addOwnService(engine);
  addComponents(engine);
  addAccess(engine);
  return stop;
}

/**
 * Adds the roles that every cluster has, and their bindings. upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy
 */
function addAccess(engine: Engine): void {
  const { store } = engine;
  // A separate random stream, so that later names do not depend on the number of roles.
  const ids = new Random("access");
  for (const object of builtinAccess()) {
    const { name, namespace } = object.metadata;
    const storageKey = `rbac.authorization.k8s.io/${(object.kind ?? "").toLowerCase()}s`;
    if (store.get(storageKey, namespace, name) !== undefined) continue;
    const creationTimestamp = toRfc3339(engine.clock.now());
    store.put(storageKey, {
      ...object,
      metadata: { ...object.metadata, uid: ids.uuid(), creationTimestamp },
    });
  }
}

/** Creates the Service by which pods find the API. upstream: pkg/controlplane/controller/kubernetesservice */
function addOwnService(engine: Engine): void {
  if (engine.store.get("services", "default", "kubernetes") !== undefined) return;
  engine.store.put("services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...freshMeta(engine, "kubernetes"),
      namespace: "default",
      labels: { component: "apiserver", provider: "kubernetes" },
    },
    spec: {
      clusterIP: "10.96.0.1",
      clusterIPs: ["10.96.0.1"],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: 6443 }],
      sessionAffinity: "None",
      type: "ClusterIP",
    },
    status: { loadBalancer: {} },
  } as KubeObject);
}

/**
 * Creates the ComponentStatuses. All components are one process here, so they are healthy whenever the server
 * answers.
 */
function addComponents(engine: Engine): void {
  for (const name of ["controller-manager", "etcd-0", "scheduler"]) {
    engine.store.put("componentstatuses", {
      apiVersion: "v1",
      kind: "ComponentStatus",
      metadata: { name },
      conditions: [{ type: "Healthy", status: "True", message: "ok" }],
    } as KubeObject);
  }
}

function addServiceAccount(engine: Engine, event: StoreEvent): void {
  if (event.type !== "ADDED") return;
  const namespace = event.object.metadata.name;
  if (engine.store.get("serviceaccounts", namespace, "default") !== undefined) return;
  engine.store.put("serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { ...freshMeta(engine, "default"), namespace },
  });
}

function freshMeta(engine: Engine, name: string): KubeObject["metadata"] {
  return {
    name,
    uid: engine.random.uuid(),
    creationTimestamp: toRfc3339(engine.clock.now()),
  };
}

/** Finalizers of claims and volumes in use, and the endpoints of Services. */
import { LABELS } from "./steps.ts";
import type { Step, Story } from "./story.ts";

function claim(name: string): Step {
  return {
    create: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "none",
        resources: { requests: { storage: "1Gi" } },
      },
    },
  };
}

export const VOLUMES: readonly Story[] = [
  {
    name: "claims-in-use",
    steps: [
      claim("used"),
      claim("unused"),
      {
        create: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "holder" },
          spec: {
            nodeName: "n",
            containers: [{ name: "main", image: "app:1" }],
            volumes: [{ name: "data", persistentVolumeClaim: { claimName: "used" } }],
          },
        },
      },
      { delete: "persistentvolumeclaims/unused" },
      { delete: "persistentvolumeclaims/used" },
      { delete: "pods/holder" },
      { gone: "all" },
    ],
  },
];

const BACKEND_NODE = "service-node";

function backend(name: string): Step {
  const ports = [{ name: "metrics", containerPort: 9_090 }];
  return {
    create: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: LABELS },
      spec: { nodeName: BACKEND_NODE, containers: [{ name: "main", image: "app:1", ports }] },
    },
  };
}

function answers(name: string, ip: string, isReady: boolean): Step {
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
  const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
  return { patch: `pods/${name}/status`, with: { status } };
}

function service(name: string, serviceSpec: object, ...steps: Step[]): Story {
  const created: Step = {
    create: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", labels: { side: "front" } },
      spec: { selector: LABELS, ...serviceSpec },
    },
  };
  return { name: `service-${name}`, steps: [created, ...steps] };
}

/** A node for these stories only, so that no other story's pods are on it. */
const SERVICE_NODE: Step = {
  create: {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: BACKEND_NODE, labels: { "topology.kubernetes.io/zone": "test-1a" } },
    spec: { taints: [{ key: "only", value: "services", effect: "NoSchedule" }] },
  },
};

const PORTS = [
  { name: "http", port: 80, targetPort: 8_080 },
  { name: "metrics", port: 81, targetPort: "metrics" },
];

export const SERVICES: readonly Story[] = [
  service(
    "backends",
    { ports: PORTS },
    SERVICE_NODE,
    backend("a"),
    backend("b"),
    answers("a", "10.1.0.1", true),
    answers("b", "10.1.0.2", false),
    answers("b", "10.1.0.2", true),
    { delete: "pods/a" },
    { gone: "all" },
    { patch: "services/web", with: { metadata: { labels: { side: "back" } } } },
    { patch: "services/web", with: { spec: { ports: [{ port: 90 }] } } },
    { delete: "services/web" },
  ),
  service("headless", { clusterIP: "None" }, backend("a"), answers("a", "10.1.0.1", true), {
    patch: "pods/a",
    with: { metadata: { labels: { app: "other" } } },
  }),
];

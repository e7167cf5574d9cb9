/** Limit ranges: which defaults they give to pods, and what they refuse. */
import { AS_TABLE, type Check, check, get, mergePatch, post } from "./check.ts";

const RANGES = "/api/v1/namespaces/<<ns>>/limitranges";
const PODS = "/api/v1/namespaces/<<ns>>/pods";
const CLAIMS = "/api/v1/namespaces/<<ns>>/persistentvolumeclaims";

function range(name: string, ...limits: readonly object[]): object {
  return { apiVersion: "v1", kind: "LimitRange", metadata: { name }, spec: { limits } };
}

interface Resources {
  readonly requests?: object;
  readonly limits?: object;
}

function container(name: string, resources?: Resources): object {
  return { name, image: "busybox:1", ...(resources === undefined ? {} : { resources }) };
}

function pod(name: string, containers: readonly object[], spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    // Without this field, the account's token is mounted as a volume with a random name.
    spec: { automountServiceAccountToken: false, containers, ...spec },
  };
}

function claim(name: string, storage: string): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
  };
}

const one = (resources?: Resources) => [container("c", resources)];

export const LIMIT_CHECKS: readonly Check[] = [
  check(
    "LM-01",
    "a limit range completes itself",
    post(RANGES, range("a", { type: "Container", max: { cpu: "2", memory: "1Gi" } })),
    post(
      RANGES,
      range("b", { type: "Container", min: { cpu: "0.1" }, default: { memory: "1024Mi" } }),
    ),
    post(RANGES, range("c", { type: "Pod", max: { cpu: "4" }, min: { cpu: "1" } })),
    mergePatch(`${RANGES}/a`, { spec: { limits: [{ type: "Container", min: { cpu: "1" } }] } }),
    get(RANGES, { headers: AS_TABLE }),
  ),
  check(
    "LM-02",
    "a pod that says less gets the defaults of its namespace, and a note of it",
    post(
      RANGES,
      range("a", {
        type: "Container",
        default: { cpu: "500m", memory: "256Mi", "ephemeral-storage": "1Gi" },
        defaultRequest: { cpu: "250m" },
      }),
    ),
    post(PODS, pod("nothing", one())),
    post(PODS, pod("some", one({ requests: { cpu: "100m" }, limits: { memory: "1Gi" } }))),
    post(
      PODS,
      pod("all", [
        container("c", {
          limits: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" },
          requests: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" },
        }),
      ]),
    ),
    post(
      PODS,
      pod("several", [container("c", { requests: { cpu: "100m" } }), container("d")], {
        initContainers: [container("i")],
      }),
    ),
    post(PODS, pod("too-much", one({ requests: { cpu: "2" } }))),
  ),
  check(
    "LM-03",
    "containers beyond their limits are refused",
    post(
      RANGES,
      range("a", {
        type: "Container",
        min: { cpu: "100m" },
        max: { cpu: "1" },
        default: { cpu: "500m" },
        defaultRequest: { cpu: "200m" },
        maxLimitRequestRatio: { cpu: "4" },
      }),
    ),
    post(PODS, pod("fits", one())),
    post(PODS, pod("small", one({ requests: { cpu: "50m" }, limits: { cpu: "60m" } }))),
    post(PODS, pod("big", one({ requests: { cpu: "1500m" }, limits: { cpu: "2" } }))),
    post(PODS, pod("wide", one({ requests: { cpu: "100m" }, limits: { cpu: "1" } }))),
    post(PODS, pod("init", one(), { initContainers: [container("i", { limits: { cpu: "3" } })] })),
    post(`${PODS}?dryRun=All`, pod("dry", one({ limits: { cpu: "3" } }))),
    mergePatch(`${PODS}/fits`, { metadata: { labels: { a: "b" } } }),
  ),
  check(
    "LM-04",
    "pods beyond their limits are refused by the sum of their containers",
    post(
      RANGES,
      range("a", {
        type: "Pod",
        min: { memory: "64Mi" },
        max: { cpu: "1" },
        maxLimitRequestRatio: { cpu: "2" },
      }),
    ),
    post(PODS, pod("nothing", one())),
    post(
      PODS,
      pod("fits", one({ requests: { memory: "64Mi", cpu: "500m" }, limits: { cpu: "1" } })),
    ),
    post(
      PODS,
      pod("big", [
        container("c", { requests: { memory: "64Mi", cpu: "400m" }, limits: { cpu: "800m" } }),
        container("d", { requests: { memory: "64Mi", cpu: "400m" }, limits: { cpu: "800m" } }),
      ]),
    ),
    post(PODS, pod("small", one({ requests: { memory: "32Mi", cpu: "1" }, limits: { cpu: "1" } }))),
  ),
  check(
    "LM-05",
    "claims beyond their limits are refused",
    post(
      RANGES,
      range("a", {
        type: "PersistentVolumeClaim",
        min: { storage: "2Gi" },
        max: { storage: "10Gi" },
      }),
    ),
    post(CLAIMS, claim("fits", "5Gi")),
    post(CLAIMS, claim("small", "1Gi")),
    post(CLAIMS, claim("big", "11Gi")),
  ),
  check(
    "LM-06",
    "limit ranges that are refused",
    post(RANGES, range("a", { type: "Container", min: { cpu: "2" }, max: { cpu: "1" } })),
    post(RANGES, range("a", { type: "Container", default: { cpu: "3" }, max: { cpu: "1" } })),
    post(
      RANGES,
      range("a", { type: "Container", defaultRequest: { cpu: "2" }, default: { cpu: "1" } }),
    ),
    post(RANGES, range("a", { type: "Pod", default: { cpu: "1" } })),
    post(RANGES, range("a", { type: "PersistentVolumeClaim", max: { cpu: "1" } })),
    post(RANGES, range("a", { type: "Container" }, { type: "Container" })),
  ),
];

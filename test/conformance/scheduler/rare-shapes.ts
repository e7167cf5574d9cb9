/**
 * Shapes that the plain generator never makes, added to two of three cases:
 * - a runtime class with overhead, resources of whole pods, several sidecars with ports
 * - node affinity by name, odd selectors, several weighted terms, two hard spreads together
 * - pods that are terminating or being resized, volume claims for one pod only
 * - Services and sets by which pods without constraints are spread
 */
import type { Pod } from "../../../src/apis/core/pod.ts";
import type { KubeObject } from "../../../src/apis/meta.ts";
import { Random } from "../../../src/base/random.ts";
import type { SchedulingCase } from "./cases.ts";
import { APPS, HOSTNAME, PREFERRED, REQUIRED, ZONE } from "./terms.ts";
import { oncePodClaim } from "./volumes.ts";

export const RUNTIME_CLASS = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "boxed" },
  handler: "boxed",
  overhead: { podFixed: { cpu: "250m", memory: "512Mi" } },
} as KubeObject;

/** A generated case or object while it is changed. */
// biome-ignore lint/suspicious/noExplicitAny: its schema is Kubernetes' own
type Draft = any;

/** All rare shapes. Each changes the case in place. */
const SHAPES: readonly ((random: Random, draft: Draft, index: number) => void)[] = [
  (random, draft) => somePod(random, draft, boxed),
  (random, draft) => somePod(random, draft, wholePodAmounts),
  (random, draft) => somePod(random, draft, sidecars),
  (random, { pending, nodes }) => {
    askForNames(random, pending, nodes);
  },
  (random, draft) => somePod(random, draft, oddSelectors),
  (random, { pending }) => weightedTerms(random, pending),
  (random, { pending }) => hardSpreads(random, pending),
  (random, { placed }) => leaving(random, placed),
  (random, { placed }) => resizing(random, placed),
  (random, draft, index) => onePodClaims(random, draft, index),
  (random, draft, index) => spreadByDefault(random, draft, index),
];

/** The case with up to two rare shapes. */
export function withRareShapes(index: number, plain: SchedulingCase): SchedulingCase {
  const random = new Random(`rare shapes/${index}`);
  const draft = structuredClone(plain) as Draft;
  const shapes = new Set(Array.from({ length: random.int(3) }, () => random.pick(SHAPES)));
  for (const change of shapes) change(random, draft, index);
  return draft as SchedulingCase;
}

/** Changes one pod: the pending one half of the time. */
function somePod(
  random: Random,
  { placed, pending }: Draft,
  change: (random: Random, pod: Draft) => void,
): void {
  change(random, placed.length === 0 || random.int(2) === 0 ? pending : random.pick(placed));
}

function boxed(_: Random, { spec }: Draft): void {
  spec.runtimeClassName = RUNTIME_CLASS.metadata.name;
  spec.overhead = { cpu: "250m", memory: "512Mi" };
}

/** Pod-level requests for CPU, memory or both. The container requests less, or leaves one out. */
function wholePodAmounts(random: Random, { spec }: Draft): void {
  const both = { cpu: random.pick(["1", "3"]), memory: random.pick(["1Gi", "3Gi"]) };
  const one = random.pick([{ cpu: "2" }, { memory: "2Gi" }]);
  spec.resources = { requests: random.int(2) === 0 ? both : one };
  const asked = random.pick<object>([{}, { cpu: "200m" }, { cpu: "1", memory: "512Mi" }]);
  spec.containers[0].resources = { requests: asked };
  delete spec.initContainers;
}

function sidecars(random: Random, { spec }: Draft): void {
  const one = (name: string, cpu: string, more: object): object => ({
    name,
    image: "pause:1",
    resources: { requests: { cpu, memory: random.pick(["64Mi", "1Gi"]) } },
    ...more,
  });
  const hostPort = random.pick([8080, 8081]);
  spec.initContainers = [
    one("s0", "200m", { restartPolicy: "Always", ports: [{ containerPort: hostPort, hostPort }] }),
    one("i0", random.pick(["1", "3"]), {}),
    one("s1", "300m", { restartPolicy: "Always" }),
    one("i1", random.pick(["500m", "2"]), {}),
  ].slice(0, 1 + random.int(4));
  delete spec.resources;
}

function askForNames(random: Random, { spec }: Draft, nodes: Draft[]): void {
  const byName = (): object => {
    const { name } = random.pick(nodes).metadata;
    return { key: "metadata.name", operator: random.pick(["In", "In", "NotIn"]), values: [name] };
  };
  const term = (): object => ({
    matchFields: Array.from({ length: 1 + (random.int(5) === 0 ? 1 : 0) }, byName),
    ...(random.int(3) === 0
      ? { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] }
      : {}),
  });
  const terms = Array.from({ length: 1 + random.int(2) }, term);
  const nodeAffinity =
    random.int(3) === 0
      ? { [PREFERRED]: terms.map((preference) => ({ weight: 1 + random.int(100), preference })) }
      : { [REQUIRED]: { nodeSelectorTerms: terms } };
  spec.affinity = { ...spec.affinity, nodeAffinity };
}

/** Selectors with expressions, of everything, or of nothing; namespaces both by name and by selector. */
function oddSelectors(random: Random, { spec }: Draft): void {
  const labelSelector = random.pick<object | undefined>([
    { matchExpressions: [{ key: "app", operator: "In", values: ["web", "db"] }] },
    { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] },
    { matchExpressions: [{ key: "rev", operator: "Exists" }], matchLabels: { app: "web" } },
    { matchExpressions: [{ key: "none", operator: "DoesNotExist" }] },
    {},
    undefined,
  ]);
  const selector = labelSelector === undefined ? {} : { labelSelector };
  const expression = { key: "team", operator: random.pick(["Exists", "DoesNotExist"]) };
  const namespaces = random.pick<object>([
    {},
    { namespaceSelector: { matchExpressions: [expression] } },
    { namespaces: ["default"], namespaceSelector: { matchLabels: { team: "x" } } },
  ]);
  const term = { topologyKey: random.pick([ZONE, HOSTNAME]), ...selector, ...namespaces };
  const name = random.pick(["podAffinity", "podAntiAffinity"]);
  if (random.int(2) === 0) spec.affinity = { ...spec.affinity, [name]: { [REQUIRED]: [term] } };
  else
    spec.topologySpreadConstraints = [
      {
        topologyKey: random.pick([ZONE, HOSTNAME]),
        maxSkew: 1,
        whenUnsatisfiable: random.pick(["DoNotSchedule", "ScheduleAnyway"]),
        ...selector,
      },
    ];
}

function weightedTerms(random: Random, { spec }: Draft): void {
  const terms = (): object[] =>
    Array.from({ length: 2 + random.int(2) }, () => ({
      weight: 1 + random.int(100),
      podAffinityTerm: {
        topologyKey: random.pick([ZONE, HOSTNAME]),
        labelSelector: { matchLabels: { app: random.pick(APPS) } },
      },
    }));
  spec.affinity = {
    ...spec.affinity,
    podAffinity: { [PREFERRED]: terms() },
    podAntiAffinity: { [PREFERRED]: terms() },
  };
}

/** Two or three hard spread constraints, with one selector or several. */
function hardSpreads(random: Random, { spec }: Draft): void {
  const app = random.pick(APPS);
  spec.topologySpreadConstraints = [ZONE, HOSTNAME, "disk"]
    .slice(0, 2 + random.int(2))
    .map((topologyKey) => ({
      topologyKey,
      maxSkew: 1 + random.int(2),
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app: random.int(3) === 0 ? random.pick(APPS) : app } },
      ...(random.int(4) === 0 ? { minDomains: 1 + random.int(3) } : {}),
      ...(random.int(4) === 0 ? { nodeAffinityPolicy: "Ignore" } : {}),
      ...(random.int(4) === 0 ? { nodeTaintsPolicy: "Honor" } : {}),
      ...(random.int(4) === 0 ? { matchLabelKeys: ["rev", "none"] } : {}),
    }));
}

/** Marks about half of the pods as terminating. */
function leaving(random: Random, placed: Draft[]): void {
  for (const { metadata } of placed)
    if (random.int(2) === 0) metadata.deletionTimestamp = "2026-01-01T02:00:00Z";
}

/** Gives pods allocated amounts that differ from their requests, as during a resize. */
function resizing(random: Random, placed: Draft[]): void {
  for (const { spec, status } of placed) {
    if (spec.resources !== undefined || spec.containers[0].resources?.requests === undefined)
      continue;
    const amounts = { cpu: random.pick(["50m", "3"]), memory: random.pick(["64Mi", "4Gi"]) };
    status.containerStatuses = [
      {
        name: "c",
        image: "pause:1",
        imageID: "",
        ready: true,
        restartCount: 0,
        ...(random.int(2) === 0 ? { allocatedResources: amounts } : {}),
        resources: { requests: amounts },
      },
    ];
    if (random.int(3) === 0)
      status.conditions = [{ type: "PodResizePending", status: "True", reason: "Infeasible" }];
  }
}

/** The pending pod uses a ReadWriteOncePod claim, which another pod holds in most cases. */
function onePodClaims(random: Random, { placed, pending, volumes }: Draft, index: number): void {
  const { objects, claimName } = oncePodClaim(index);
  volumes.push(...objects);
  const holders = placed.filter(({ metadata }: Pod) => metadata.namespace === "default");
  const volume = { name: "once", persistentVolumeClaim: { claimName } };
  const add = ({ spec }: Draft): void => {
    spec.volumes = [...(spec.volumes ?? []), volume];
  };
  if (holders.length > 0 && random.int(4) > 0) add(random.pick(holders));
  add(pending);
}

/** The pending pod has no spread constraints: the default ones follow from its Services and its owner. */
function spreadByDefault(random: Random, { pending, owners }: Draft, index: number): void {
  delete pending.spec.topologySpreadConstraints;
  const { app, rev } = pending.metadata.labels;
  if (random.int(3) > 0)
    owners.push({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `s${index}`, namespace: "default" },
      spec: { selector: { app: random.int(5) === 0 ? "none" : app }, ports: [{ port: 80 }] },
    });
  if (random.int(2) === 0) return;
  const [apiVersion, kind] = random.pick([
    ["apps/v1", "ReplicaSet"],
    ["apps/v1", "StatefulSet"],
    ["v1", "ReplicationController"],
  ]) as [string, string];
  const labels = { app, rev };
  const owner = {
    apiVersion,
    kind,
    metadata: { name: `o${index}`, namespace: "default" },
    spec: {
      replicas: 0,
      selector: kind === "ReplicationController" ? labels : { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "pause:1" }] } },
    },
  };
  owners.push(owner);
  const { name } = owner.metadata;
  pending.metadata.ownerReferences = [
    { apiVersion, kind, name, uid: "f0a1b2c3-0000-4000-8000-000000000000", controller: true },
  ];
}

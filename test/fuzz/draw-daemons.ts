/**
 * Adds DaemonSets to a random scenario. One names nodes in its terms or excludes them. Others run only in a zone, on a
 * capacity type, or where a label of the NodePool has a certain value. Each uses its own random source, so the rest of
 * the scenario does not change.
 */
import { Random } from "../../src/base/random.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

/** The first two nodes may exist, the last never does. */
const NODES = ["node-0", "node-1", "gone"];

/** One of six scenarios has this DaemonSet. */
export function withNamedDaemons(scenario: Scenario, seed: number): Scenario {
  if (seed % 6 !== 5) return scenario;
  const random = new Random(seed * 15_485_863 + 11);
  const nodeSelectorTerms = Array.from({ length: 1 + random.int(2) }, () => term(random));
  const daemon = daemonSet("by-name", nodeSelectorTerms, [{ name: "main", ...ROOM }]);
  return { ...scenario, manifests: [...scenario.manifests, daemon] };
}

const ROOM = { resources: { requests: { cpu: "700m", memory: "1Gi" } } };

function daemonSet(name: string, nodeSelectorTerms: readonly Json[], containers: Json[]): Json {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: "default" },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers,
          tolerations: [{ operator: "Exists" }],
          affinity: {
            nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
          },
        },
      },
    },
  };
}

const PLACES: readonly (readonly [key: string, values: readonly string[]])[] = [
  ["topology.kubernetes.io/zone", ["zone-a", "zone-b", "zone-c"]],
  ["karpenter.sh/capacity-type", ["on-demand", "spot"]],
  ["example.com/team", ["red", "blue"]],
];

/**
 * Adds one or two DaemonSets to the scenario. One of three NodePools may have two values of the label
 * `example.com/team`.
 */
export function withPlacedDaemons(scenario: Scenario, seed: number): Scenario {
  const random = new Random(seed * 32_452_843 + 7);
  const port = { ports: [{ containerPort: 80, hostPort: 80 }] };
  // Two daemons with the same host port would exclude each other.
  const isFree = !scenario.manifests.some(
    (one) => one.kind === "DaemonSet" && JSON.stringify(one).includes("hostPort"),
  );
  const daemons = Array.from({ length: 1 + random.int(2) }, (_, at) => {
    const terms = Array.from({ length: 1 + random.int(2) }, () => placeTerm(random));
    const room = random.pick([ROOM, { resources: { requests: { cpu: "1500m" } } }]);
    return daemonSet(`placed-${at}`, terms, [
      { name: "main", ...room, ...(random.int(2) === 0 && at === 0 && isFree ? port : {}) },
    ]);
  });
  const manifests = scenario.manifests.map((one) => {
    if (one.kind !== "NodePool" || random.int(3) > 0) return one;
    const { template } = one.spec;
    const own: Json[] = template.spec.requirements ?? [];
    if (own.some(({ key }) => key === "example.com/team")) return one;
    const team = random.pick<Json>([
      { key: "example.com/team", operator: "In", values: ["red", "blue"] },
      { key: "example.com/team", operator: "Exists" },
    ]);
    const spec = { ...template.spec, requirements: [...own, team] };
    return { ...one, spec: { ...one.spec, template: { ...template, spec } } };
  });
  return { ...scenario, manifests: [...manifests, ...daemons] };
}

function placeTerm(random: Random): Json {
  const one = () => {
    const [key, values] = random.pick(PLACES);
    return { key, operator: random.pick(["In", "NotIn"]), values: [random.pick(values)] };
  };
  return { matchExpressions: random.int(3) === 0 ? [one(), one()] : [one()] };
}

function term(random: Random): Json {
  const operator = random.pick(["In", "NotIn"]);
  const named = { matchFields: [{ key: "metadata.name", operator, values: [random.pick(NODES)] }] };
  const key = "kubernetes.io/arch";
  const matchExpressions = [{ key, operator: "In", values: [random.pick(["amd64", "arm64"])] }];
  return random.pick<Json>([named, { ...named, matchExpressions }, { matchExpressions }]);
}

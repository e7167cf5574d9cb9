/**
 * Adds to a drawn scenario a DaemonSet whose terms name nodes, or leave some out. Draws from lots of its own, so
 * that everything else stays as it was.
 */
import { Random } from "../../src/base/random.ts";
import type { Json } from "../validator/kubernetes.ts";
import type { Scenario } from "../validator/validate.ts";

/** The first two may be there; the last never is. */
const NODES = ["node-0", "node-1", "gone"];

/** One scenario in six has it. */
export function withNamedDaemons(scenario: Scenario, seed: number): Scenario {
  if (seed % 6 !== 5) return scenario;
  const random = new Random(seed * 15_485_863 + 11);
  const nodeSelectorTerms = Array.from({ length: 1 + random.int(2) }, () => term(random));
  const daemonSet = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "by-name", namespace: "default" },
    spec: {
      selector: { matchLabels: { app: "by-name" } },
      template: {
        metadata: { labels: { app: "by-name" } },
        spec: {
          containers: [{ name: "main", resources: { requests: { cpu: "700m", memory: "1Gi" } } }],
          tolerations: [{ operator: "Exists" }],
          affinity: {
            nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
          },
        },
      },
    },
  };
  return { ...scenario, manifests: [...scenario.manifests, daemonSet] };
}

function term(random: Random): Json {
  const operator = random.pick(["In", "NotIn"]);
  const named = { matchFields: [{ key: "metadata.name", operator, values: [random.pick(NODES)] }] };
  const key = "kubernetes.io/arch";
  const matchExpressions = [{ key, operator: "In", values: [random.pick(["amd64", "arm64"])] }];
  return random.pick<Json>([named, { ...named, matchExpressions }, { matchExpressions }]);
}

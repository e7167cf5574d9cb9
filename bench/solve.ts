/**
 * How fast one planning pass is: `npx tsx bench/solve.ts [pods …]`. The workloads and the catalogue
 * of 400 types are those of upstream's scheduling_benchmark_test.go: fifths of generic pods, zonal
 * and host spread, zonal affinity and host anti-affinity, and 4,000 equal pods with preferences.
 * Prints pods/s.
 */

import type { Pod } from "../src/apis/core/pod.ts";
import { Random } from "../src/base/random.ts";
import type { InstanceType } from "../src/core/cloudprovider/instance-type.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import { solve } from "../src/core/provisioning/solve.ts";
import {
  instanceType,
  type PodOptions,
  pod,
  poolInput,
  SCHEDULING_OPTIONS,
  schedulingInput,
} from "../src/testing/builders.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const LABELS = ["a", "b", "c", "d", "e", "f", "g"];
const CPU = ["100m", "250m", "500m", "1000m", "1500m"];
const MEMORY = ["100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi"];
const TYPES = 400;

const random = new Random(42);

function fakeTypes(): InstanceType[] {
  return Array.from({ length: TYPES }, (_, index) => {
    const size = index + 1;
    const priceMicroUsd = Math.round(314_748.3648 * size);
    const at = (zone: number, capacityType: "spot" | "on-demand") => ({
      zone: `test-zone-${zone}`,
      capacityType,
      priceMicroUsd,
      available: true,
    });
    return instanceType({
      name: `fake-it-${index}`,
      cpu: size,
      memoryGi: 2 * size,
      pods: 10 * size,
      overhead: { cpu: 100, memory: 10 * 2 ** 20 },
      offerings: [
        at(1, "spot"),
        at(2, "spot"),
        at(1, "on-demand"),
        at(2, "on-demand"),
        at(3, "on-demand"),
      ],
    });
  });
}

function term(topologyKey: string, matchLabels: Record<string, string>) {
  return {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey, labelSelector: { matchLabels } },
    ],
  };
}

function spread(topologyKey: string, value: string) {
  const labelSelector = { matchLabels: { "my-label": value } };
  const whenUnsatisfiable = "DoNotSchedule" as const;
  return {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable, labelSelector }],
  };
}

const KINDS: readonly (() => PodOptions)[] = [
  () => ({ labels: { "my-label": random.pick(LABELS) } }),
  () => {
    const labels = { "my-label": random.pick(LABELS) };
    return { labels, spec: spread(ZONE, random.pick(LABELS)) };
  },
  () => {
    const labels = { "my-label": random.pick(LABELS) };
    return { labels, spec: spread(HOSTNAME, random.pick(LABELS)) };
  },
  () => {
    const labels = { "my-affininity": random.pick(LABELS) };
    return { labels, spec: { affinity: { podAffinity: term(ZONE, labels) } } };
  },
  () => {
    const labels = { app: "nginx" };
    return { labels, spec: { affinity: { podAntiAffinity: term(HOSTNAME, labels) } } };
  },
];

function diversePods(count: number): Pod[] {
  return Array.from({ length: count }, (_, index) => {
    const kind = KINDS[Math.floor((index * KINDS.length) / count)] as () => PodOptions;
    const size = { cpu: random.pick(CPU), memory: random.pick(MEMORY) };
    return pod({ ...kind(), name: `pod-${index}`, ...size });
  });
}

function preferencePods(count: number): Pod[] {
  const [cpu, memory] = [random.pick(CPU), random.pick(MEMORY)];
  const labels = { app: "nginx" };
  const avoid = (weight: number, topologyKey: string) => ({
    weight,
    podAffinityTerm: { topologyKey, labelSelector: { matchLabels: labels } },
  });
  const zone = { key: ZONE, operator: "In" as const, values: ["test-zone-1"] };
  const affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [zone] } },
      ],
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [avoid(10, ZONE), avoid(1, HOSTNAME)],
    },
  };
  return Array.from({ length: count }, (_, index) =>
    pod({ name: `pod-${index}`, cpu, memory, labels, spec: { affinity } }),
  );
}

function report(name: string, input: SchedulingInput): void {
  const start = performance.now();
  const result = solve(input);
  const ms = performance.now() - start;
  const rate = Math.round((input.pods.length / ms) * 1_000).toLocaleString("en");
  const price = result.newClaims.reduce((sum, claim) => sum + claim.cheapest.priceMicroUsd, 0);
  process.stdout.write(
    `${name.padEnd(24)} ${ms.toFixed(0).padStart(7)} ms ${rate.padStart(9)} pods/s ` +
      `${String(result.newClaims.length).padStart(6)} nodes ` +
      `${(price / 1e6).toFixed(2).padStart(10)} $/h ` +
      `${result.unschedulable.length} left\n`,
  );
}

const counts = process.argv.slice(2).map(Number);
const pools = [poolInput({}, fakeTypes())];
for (const count of counts.length > 0 ? counts : [1_000, 5_000, 10_000]) {
  report(`mix ${count}`, schedulingInput({ pools, pods: diversePods(count) }));
}
const preferring = preferencePods(4_000);
report("preferences respected", schedulingInput({ pools, pods: preferring }));
const options = { ...SCHEDULING_OPTIONS, preferencePolicy: "Ignore" as const };
report("preferences ignored", schedulingInput({ pools, pods: preferring, options }));

/** Affinity and spreading of generated pods, with every policy of the API. */
import type { Random } from "../../../src/base/random.ts";

export const ZONE = "topology.kubernetes.io/zone";
export const HOSTNAME = "kubernetes.io/hostname";
export const APPS = ["web", "db", "job"];
export const REVISIONS = ["r1", "r2"];

export const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
export const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

/** Affinity of an existing pod, which attracts or repels later pods. */
export function placedAffinity(random: Random): object {
  return random.int(3) === 0 ? { affinity: podAffinity(random) } : {};
}

export function affinity(random: Random): object {
  const kind = random.int(3);
  if (kind === 0) return { nodeAffinity: nodeAffinity(random) };
  if (kind === 1) return podAffinity(random);
  return { nodeAffinity: nodeAffinity(random), ...podAffinity(random) };
}

function nodeAffinity(random: Random): object {
  const expression = (): object =>
    random.pick([
      { key: "disk", operator: "In", values: ["ssd"] },
      { key: "disk", operator: "NotIn", values: ["ssd"] },
      { key: "size", operator: "Exists" },
      { key: "size", operator: "DoesNotExist" },
      { key: "size", operator: "Gt", values: ["1"] },
      { key: "size", operator: "Lt", values: ["3"] },
      { key: ZONE, operator: "In", values: ["a", "b"] },
      { key: ZONE, operator: "NotIn", values: ["a"] },
    ]);
  const term = (): object => ({
    matchExpressions: Array.from({ length: 1 + random.int(2) }, expression),
  });
  const required = {
    nodeSelectorTerms: Array.from({ length: 1 + random.int(2) }, term),
  };
  const preferred = Array.from({ length: 1 + random.int(2) }, () => ({
    weight: 1 + random.int(100),
    preference: term(),
  }));
  const kind = random.int(5);
  if (kind < 2) return { [REQUIRED]: required };
  if (kind < 4) return { [PREFERRED]: preferred };
  return { [REQUIRED]: required, [PREFERRED]: preferred };
}

function podAffinity(random: Random): object {
  const one = (name: string): object => {
    if (random.int(2) === 0) {
      const terms = Array.from({ length: 1 + (random.int(4) === 0 ? 1 : 0) }, () => term(random));
      return { [name]: { [REQUIRED]: terms } };
    }
    const weighted = { weight: 1 + random.int(100), podAffinityTerm: term(random) };
    return { [name]: { [PREFERRED]: [weighted] } };
  };
  const kind = random.int(5);
  if (kind < 2) return one("podAffinity");
  if (kind < 4) return one("podAntiAffinity");
  return { ...one("podAffinity"), ...one("podAntiAffinity") };
}

function term(random: Random): object {
  const where = random.int(6);
  const revision = random.int(8);
  return {
    topologyKey: random.pick([ZONE, HOSTNAME]),
    labelSelector: { matchLabels: { app: random.pick(APPS) } },
    ...(where === 0 ? { namespaces: ["other"] } : {}),
    ...(where === 1
      ? { namespaceSelector: random.pick([{}, { matchLabels: { team: "x" } }]) }
      : {}),
    ...(revision === 0 ? { matchLabelKeys: ["rev"] } : {}),
    ...(revision === 1 ? { mismatchLabelKeys: ["rev"] } : {}),
  };
}

export function spread(random: Random): object[] {
  return Array.from({ length: 1 + random.int(2) }, (_, at) => {
    const whenUnsatisfiable = random.pick(["DoNotSchedule", "ScheduleAnyway"]);
    return {
      maxSkew: 1 + random.int(2),
      // The API allows each pair of key and `whenUnsatisfiable` only once.
      topologyKey: at === 0 ? random.pick([ZONE, ZONE, "disk"]) : HOSTNAME,
      whenUnsatisfiable,
      labelSelector: { matchLabels: { app: random.pick(APPS) } },
      ...(whenUnsatisfiable === "DoNotSchedule" && random.int(4) === 0 ? { minDomains: 2 } : {}),
      ...(random.int(3) === 0 ? { nodeAffinityPolicy: random.pick(["Honor", "Ignore"]) } : {}),
      ...(random.int(3) === 0 ? { nodeTaintsPolicy: random.pick(["Honor", "Ignore"]) } : {}),
      ...(random.int(5) === 0 ? { matchLabelKeys: ["rev"] } : {}),
    };
  });
}

/**
 * The validator's own knowledge of Kubernetes, written from the documented meaning of the fields: amounts, selectors,
 * tolerations, ports. It shares no code with the engine that it judges, nor with `src/apis`.
 */

export type Labels = Readonly<Record<string, string>>;
export type Amounts = Record<string, number>;
// biome-ignore lint/suspicious/noExplicitAny: manifests as they are written, of any kind.
export type Json = any;

const SUFFIX: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** The quantity in thousandths, so that both milli-cores and bytes are integers. */
export function milli(quantity: unknown): number {
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)$/.exec(String(quantity));
  if (match === null) throw new Error(`not a quantity: ${String(quantity)}`);
  const factor = match[2] === "" ? 1 : SUFFIX[match[2] as string];
  if (factor === undefined) throw new Error(`not a quantity: ${String(quantity)}`);
  return Math.ceil(Number(match[1]) * factor * 1000 - 1e-6);
}

export function amounts(written: Readonly<Record<string, unknown>> | undefined): Amounts {
  return Object.fromEntries(Object.entries(written ?? {}).map(([name, one]) => [name, milli(one)]));
}

export function plus(a: Amounts, b: Amounts): Amounts {
  const sum = { ...a };
  for (const name in b) sum[name] = (sum[name] ?? 0) + (b[name] as number);
  return sum;
}

export function minus(a: Amounts, b: Amounts): Amounts {
  const rest = { ...a };
  for (const name in b) rest[name] = (rest[name] ?? 0) - (b[name] as number);
  return rest;
}

function larger(a: Amounts, b: Amounts): Amounts {
  const most = { ...a };
  for (const name in b) most[name] = Math.max(most[name] ?? 0, b[name] as number);
  return most;
}

function requestsOf(container: Json): Amounts {
  const { requests, limits } = container.resources ?? {};
  return { ...amounts(limits), ...amounts(requests) };
}

/** What kube-scheduler reserves for the pod. The slot of the pod itself is the resource `pods`. */
export function podAmounts(pod: Json): Amounts {
  let running: Amounts = {};
  for (const container of pod.spec.containers ?? []) running = plus(running, requestsOf(container));
  let sidecars: Amounts = {};
  let starting: Amounts = {};
  for (const container of pod.spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") {
      sidecars = plus(sidecars, requestsOf(container));
      starting = larger(starting, sidecars);
    } else starting = larger(starting, plus(sidecars, requestsOf(container)));
  }
  let most = larger(plus(running, sidecars), starting);
  const { requests, limits } = pod.spec.resources ?? {};
  if (requests !== undefined || limits !== undefined) {
    most = { ...most, ...amounts(limits), ...amounts(requests) };
  }
  return plus(plus(most, amounts(pod.spec.overhead)), { pods: 1000 });
}

/** The first resource of which `wanted` has more than `there`. */
export function shortOf(wanted: Amounts, there: Amounts): string | undefined {
  return Object.keys(wanted).find(
    (name) => (wanted[name] as number) > 0 && (wanted[name] as number) > (there[name] ?? 0),
  );
}

/** Whether a label selector, as in apps and affinity, matches. Undefined matches nothing. */
export function selects(selector: Json, labels: Labels): boolean {
  if (selector === undefined || selector === null) return false;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labels[key] !== value) return false;
  }
  return (selector.matchExpressions ?? []).every((one: Json) => meets(one, labels));
}

/** Whether labels satisfy one expression of a selector or node selector term. */
export function meets({ key, operator, values = [] }: Json, labels: Labels): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return value !== undefined && Number(value) > Number(values[0]);
    case "Lt":
      return value !== undefined && Number(value) < Number(values[0]);
    case "Gte":
      return value !== undefined && Number(value) >= Number(values[0]);
    case "Lte":
      return value !== undefined && Number(value) <= Number(values[0]);
    default:
      throw new Error(`no such operator: ${operator}`);
  }
}

/**
 * Whether the nodeSelector and one of the required terms match. A term without conditions matches nothing. Without
 * `name` the node is new, so no term can name it.
 */
export function wantsNode(spec: Json, labels: Labels, name?: string): boolean {
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (labels[key] !== value) return false;
  }
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (terms === undefined) return true;
  const fields: Labels = name === undefined ? {} : { "metadata.name": name };
  return terms.some(
    ({ matchExpressions = [], matchFields = [] }: Json) =>
      matchExpressions.length + matchFields.length > 0 &&
      matchExpressions.every((one: Json) => meets(one, labels)) &&
      matchFields.every((one: Json) => meets(one, fields)),
  );
}

/** The first taint that the pod does not tolerate. */
export function repelledBy(taints: readonly Json[], spec: Json): Json | undefined {
  return taints.find(
    (taint) => taint.effect !== "PreferNoSchedule" && !tolerates(spec.tolerations ?? [], taint),
  );
}

export function tolerates(tolerations: readonly Json[], taint: Json): boolean {
  return tolerations.some((one) => {
    if (one.effect !== undefined && one.effect !== "" && one.effect !== taint.effect) return false;
    if (one.key !== undefined && one.key !== "" && one.key !== taint.key) return false;
    if (one.operator === "Exists") return true;
    return one.key !== undefined && (one.value ?? "") === (taint.value ?? "");
  });
}

/** `ip/protocol/port` of each host port of the pod. */
function hostPortsOf(pod: Json): { ip: string; protocol: string; port: number }[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    (c: Json) => c.restartPolicy === "Always",
  );
  return [...(pod.spec.containers ?? []), ...sidecars].flatMap((container: Json) =>
    (container.ports ?? []).flatMap((one: Json) => {
      const port = one.hostPort || (pod.spec.hostNetwork === true ? one.containerPort : 0);
      if (!port) return [];
      return [{ ip: one.hostIP || "0.0.0.0", protocol: one.protocol || "TCP", port }];
    }),
  );
}

export function portsCollide(pods: readonly Json[]): boolean {
  const taken: { ip: string; protocol: string; port: number }[] = [];
  for (const pod of pods) {
    const own = hostPortsOf(pod);
    const clash = own.some((port) =>
      taken.some(
        (other) =>
          other.port === port.port &&
          other.protocol === port.protocol &&
          (other.ip === port.ip || other.ip === "0.0.0.0" || port.ip === "0.0.0.0"),
      ),
    );
    if (clash) return true;
    taken.push(...own);
  }
  return false;
}

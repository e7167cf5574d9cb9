/**
 * Simulated usage of the containers of a pod. No container really runs, so usage follows from the requests.
 * By default it is half of them. An annotation may set another percentage, or a load that the ready pods of a
 * workload share. A limit caps the usage.
 */
import type { Container, Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { parseMilli } from "../../base/quantity.ts";

/** The resources of the metrics API. */
const MEASURED = ["cpu", "memory"] as const;
/** The resources that the metrics API reports. */
export type MeasuredResource = (typeof MEASURED)[number];

const PREFIX = "karpenter-ts.sandbox/";
const DEFAULT_PERCENT = 50;

/** The usage in thousandths of a core and of a byte. */
export type Usage = Readonly<Record<MeasuredResource, number>>;

/** Simulated usage of one container. */
export interface ContainerUsage {
  readonly name: string;
  readonly usage: Usage;
}

/** An annotation with an invalid value. */
export interface OddAnnotation {
  readonly annotation: string;
  readonly value: string;
  readonly wanted: string;
}

/** The objects whose annotations set the usage of a pod: the pod, its owner, and the owner of its owner. */
export type UsageSteering = readonly Pick<KubeObject, "metadata">[];

/** A load on a workload, and the number of pods that share it. */
export interface SharedLoad {
  readonly milli: number;
  readonly pods: number;
}

/** The annotation for usage in percent of the requests, on a pod or workload. */
function utilizationAnnotation(resource: MeasuredResource): string {
  return `${PREFIX}${resource}-utilization`;
}

/** The annotation for an amount that the ready pods of a workload use together. */
function loadAnnotation(resource: MeasuredResource): string {
  return `${PREFIX}${resource}-load`;
}

/** The usage of each container. `loadOf` returns the load of the pod's workload, which its pods share. */
export function containerUsages(
  pod: Pod,
  steering: UsageSteering,
  loadOf: (resource: MeasuredResource) => SharedLoad | undefined,
  onOdd: (odd: OddAnnotation) => void,
): readonly ContainerUsage[] {
  const containers = measuredContainers(pod);
  const shares = MEASURED.map((resource) => {
    const load = loadOf(resource);
    if (load === undefined) return percentOf(resource, steering, onOdd) / 100;
    if (!isReady(pod)) return 0;
    const asked = containers.reduce((sum, one) => sum + requested(one, resource), 0);
    return asked === 0 ? 0 : load.milli / load.pods / asked;
  });
  return containers.map((container) => ({
    name: container.name,
    usage: {
      cpu: used(container, "cpu", shares[0] as number),
      memory: used(container, "memory", shares[1] as number),
    },
  }));
}

/** The load that an object's annotation sets; undefined if there is none or it is invalid. */
export function loadOn(
  object: Pick<KubeObject, "metadata">,
  resource: MeasuredResource,
  onOdd: (odd: OddAnnotation) => void,
): number | undefined {
  const annotation = loadAnnotation(resource);
  const value = object.metadata.annotations?.[annotation];
  if (value === undefined) return undefined;
  const milli = parseMilli(value);
  if (milli !== undefined && milli >= 0) return milli;
  onOdd({ annotation, value, wanted: "an amount such as 3500m or 2Gi" });
  return undefined;
}

function percentOf(
  resource: MeasuredResource,
  steering: UsageSteering,
  onOdd: (odd: OddAnnotation) => void,
): number {
  const annotation = utilizationAnnotation(resource);
  for (const { metadata } of steering) {
    const value = metadata.annotations?.[annotation];
    if (value === undefined) continue;
    const match = /^(\d{1,5}(?:\.\d+)?)\s*%?$/.exec(value);
    if (match !== null) return Number(match[1]);
    onOdd({ annotation, value, wanted: "a percentage such as 80%" });
  }
  return DEFAULT_PERCENT;
}

/** Containers and sidecars. Other init containers end, so they use nothing. */
function measuredContainers({ spec }: Pod): readonly Container[] {
  const sidecars = (spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  return [...spec.containers, ...sidecars];
}

function used(container: Container, resource: MeasuredResource, share: number): number {
  const wanted = Math.round(requested(container, resource) * share);
  const limit = container.resources?.limits?.[resource];
  const most = limit === undefined ? undefined : parseMilli(limit);
  return most === undefined ? wanted : Math.min(wanted, most);
}

function requested({ resources }: Container, resource: MeasuredResource): number {
  const amount = resources?.requests?.[resource] ?? resources?.limits?.[resource];
  return amount === undefined ? 0 : (parseMilli(amount) ?? 0);
}

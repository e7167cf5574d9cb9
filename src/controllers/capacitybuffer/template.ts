/**
 * Finds the pod template of a CapacityBuffer: a PodTemplate, or the template of a workload that the buffer references.
 * Workloads are read from the API server.
 * upstream: pkg/controllers/capacitybuffer/controller.go
 */
import { JOB, type Job, type PodTemplateSpec } from "../../apis/apps/kinds.ts";
import type { CapacityBuffer, ScalableRef } from "../../apis/autoscaling/capacity-buffer.ts";
import type { Scale } from "../../apis/autoscaling/kinds.ts";
import { POD } from "../../apis/core/pod.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import { podTemplates } from "../mirrors.ts";
import type { World } from "../world.ts";

/** The template of a buffer's pods and, for a workload, its number of replicas. */
export interface PodSource {
  readonly template: PodTemplateSpec;
  /** Name and generation of the PodTemplate. Absent: the template comes from a workload. */
  readonly stored?: { readonly name: string; readonly generation: number };
  /** Replicas of the workload. Absent: the template is a PodTemplate, which has no replicas. */
  readonly replicas?: number;
}

/** Why no template was found for a buffer. `reason` is the reason of the buffer's condition. */
export interface Unresolved {
  readonly reason: "PodTemplateNotFound" | "ScalableRefNotFound" | "ResolutionFailed";
  readonly message: string;
}

/** Reads the PodTemplate or workload that the buffer references. */
export async function sourceOf(
  world: World,
  buffer: CapacityBuffer,
): Promise<PodSource | Unresolved> {
  const { podTemplateRef, scalableRef } = buffer.spec;
  const { namespace = "default" } = buffer.metadata;
  if (podTemplateRef !== undefined) return fromTemplate(world, namespace, podTemplateRef.name);
  if (scalableRef !== undefined) return fromWorkload(world, namespace, scalableRef);
  return failed("neither spec.podTemplateRef nor spec.scalableRef is set; set one of them");
}

function fromTemplate(world: World, namespace: string, name: string): PodSource | Unresolved {
  const found = podTemplates(world).get(`${namespace}/${name}`);
  if (found === undefined) {
    const message = `spec.podTemplateRef.name: PodTemplate "${name}" not found in namespace ${namespace}`;
    return { reason: "PodTemplateNotFound", message };
  }
  if (!hasContainers(found.template))
    return failed(`spec.podTemplateRef.name: PodTemplate "${name}" has no containers`);
  return { template: found.template, stored: { name, generation: found.metadata.generation ?? 0 } };
}

/** The workload kinds of apps/v1 with `spec.replicas` and `spec.template`, and their names in URLs. */
const APPS: Readonly<Record<string, string>> = {
  Deployment: "deployments",
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
};

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly template?: Partial<PodTemplateSpec> };
}

async function fromWorkload(
  world: World,
  namespace: string,
  ref: ScalableRef,
): Promise<PodSource | Unresolved> {
  const { kind, name } = ref;
  const group = ref.apiGroup || "apps";
  const where = { namespace, name };
  try {
    const plural = group === "apps" ? APPS[kind] : undefined;
    if (plural !== undefined) {
      const known: Kind<Workload> = { group, version: "v1", kind, plural, namespaced: true };
      const { spec } = await world.kube.get(known, where);
      return fromSpec(ref, spec?.template, spec?.replicas ?? 1);
    }
    if (group === JOB.group && kind === JOB.kind) {
      const { spec } = await world.kube.get<Job>(JOB, where);
      return fromSpec(ref, spec.template, spec.parallelism ?? 1);
    }
    return await fromScale(world, namespace, { ...ref, apiGroup: group });
  } catch (error) {
    if (isNotFound(error)) {
      const message = `spec.scalableRef: ${kind} "${name}" of ${group} not found in namespace ${namespace}`;
      return { reason: "ScalableRefNotFound", message };
    }
    if (!isForbidden(error)) throw error;
    return failed(
      `spec.scalableRef: karpenter may not read ${kind} of ${group}; let it get the kind and its scale, by additionalClusterRoleRules in the chart`,
    );
  }
}

function fromSpec(
  { kind, name }: ScalableRef,
  template: Partial<PodTemplateSpec> | undefined,
  replicas: number,
): PodSource | Unresolved {
  if (!hasContainers(template))
    return failed(`spec.scalableRef: ${kind} "${name}" has no pod template with containers`);
  return { template, replicas };
}

/** Whether the template has containers. A custom kind may have a field `template` of another form. */
function hasContainers(
  template: Partial<PodTemplateSpec> | undefined,
): template is PodTemplateSpec {
  const containers: unknown = template?.spec?.containers;
  return Array.isArray(containers) && containers.length > 0;
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string }[];
}

/**
 * Reads a workload of any kind with a scale subresource. If it has no pod template, one of its pods is used as
 * template.
 */
async function fromScale(
  world: World,
  namespace: string,
  ref: ScalableRef,
): Promise<PodSource | Unresolved> {
  const group = ref.apiGroup ?? "";
  const served = await read<{ preferredVersion?: { version: string } }>(world, `/apis/${group}`);
  const version = served.preferredVersion?.version ?? "v1";
  const { resources = [] } = await read<ResourceList>(world, `/apis/${group}/${version}`);
  const plural = resources.find(({ kind, name }) => kind === ref.kind && !name.includes("/"))?.name;
  if (plural === undefined)
    return failed(`spec.scalableRef.kind: "${ref.kind}" is not served in ${group}/${version}`);
  if (!resources.some(({ name }) => name === `${plural}/scale`))
    return failed(`spec.scalableRef.kind: "${ref.kind}" of ${group} has no scale subresource`);
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${ref.name}`;
  const workload = await read<Workload>(world, path);
  const scale = await read<Scale>(world, `${path}/scale`);
  const replicas = scale.spec?.replicas ?? 1;
  const own = workload.spec?.template;
  if (hasContainers(own)) return fromSpec(ref, own, replicas);
  const pod = await onePodOf(world, namespace, scale.status?.selector ?? "");
  if (pod !== undefined) return fromSpec(ref, { metadata: pod.metadata, spec: pod.spec }, replicas);
  return failed(
    `spec.scalableRef: ${ref.kind} "${ref.name}" has neither spec.template nor a pod to take it from`,
  );
}

async function onePodOf({ kube }: World, namespace: string, labelSelector: string) {
  if (labelSelector === "") return undefined;
  const { items } = await kube.list(POD, { namespace, labelSelector });
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}

async function read<T>({ kube }: World, path: string): Promise<T> {
  return (await kube.raw({ method: "GET", path })).body as T;
}

function failed(message: string): Unresolved {
  return { reason: "ResolutionFailed", message };
}

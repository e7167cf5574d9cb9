/**
 * Sorts objects by their use in a plan. Each object is validated and defaulted as by the API server. Older
 * generations of Karpenter's kinds are converted to the newest. Objects that a plan does not use are counted and
 * named; they are no error.
 */
import type { CronJob, DaemonSet } from "../../apis/apps/kinds.ts";
import type { CapacityBuffer, StoredPodTemplate } from "../../apis/autoscaling/capacity-buffer.ts";
import type { VerticalPodAutoscaler } from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import type { AWSNodeTemplate } from "../../apis/aws/awsnodetemplate.ts";
import type { EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import type {
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  ResourceQuota,
  Service,
} from "../../apis/core/kinds.ts";
import type { LimitRange } from "../../apis/core/limit-range.ts";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { statusTypeProblem } from "../../apis/crds/type-problem.ts";
import { defaultedProvisioner } from "../../apis/hub/admission.ts";
import { alphaTypeProblem } from "../../apis/hub/alpha-types.ts";
import { toClaim } from "../../apis/hub/claim.ts";
import { ConversionError, convertObject } from "../../apis/hub/conversion.ts";
import { validateAwsBlock, validateInlineProvider } from "../../apis/hub/validate-aws.ts";
import { validateProvisioner } from "../../apis/hub/validate-provisioner.ts";
import { type FieldProblem, problemsText } from "../../apis/hub/validation.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NodeOverlay } from "../../apis/karpenter/nodeoverlay.ts";
import type { NodePool } from "../../apis/karpenter/nodepool.ts";
import type { Provisioner } from "../../apis/karpenter/provisioner.ts";
import { type KubeObject, keyOf, type ObjectMeta } from "../../apis/meta.ts";
import type { RuntimeClass } from "../../apis/node/runtime-class.ts";
import type { PodDisruptionBudget, PriorityClass } from "../../apis/policy/kinds.ts";
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../../apis/resource/kinds.ts";
import type { CSINode, StorageClass } from "../../apis/storage/kinds.ts";
import { canonicalJson } from "../../base/json.ts";
import { compareText } from "../../base/text-order.ts";
import type { DeviceFacts } from "../../core/devices/device-facts.ts";
import { isCustom } from "../../sandbox/apiserver/engine.ts";
import { CliError } from "../program/cli-error.ts";
import { shownSentence } from "../program/shown.ts";
import type { Found } from "./documents.ts";
import { fieldErrorText, isRemark, unknownFieldText } from "./field-words.ts";
import { definitionOf, knownKinds, readable } from "./known-kinds.ts";
import { type LookedAt, refuseSlip, WORKLOAD_KINDS } from "./looked-at.ts";
import type { Autoscaler } from "./workload-size.ts";

/**
 * The input of a plan by kind, in the newest version, with defaults. The order is that of the API server
 * (namespace, then name), so that the order in files makes no difference.
 */
export interface Manifests {
  readonly pods: readonly Pod[];
  /** Workloads whose pods must be created. */
  readonly workloads: readonly KubeObject[];
  /** Workloads of a live cluster, whose pods exist. */
  readonly liveWorkloads: readonly KubeObject[];
  readonly cronJobs: readonly CronJob[];
  readonly autoscalers: readonly Autoscaler[];
  /** VerticalPodAutoscalers. They are used only if the controller reads them. */
  readonly verticalAutoscalers: readonly VerticalPodAutoscaler[];
  readonly daemonSets: readonly DaemonSet[];
  readonly pools: readonly (NodePool | Provisioner)[];
  readonly nodeClasses: readonly (EC2NodeClass | AWSNodeTemplate)[];
  readonly nodes: readonly Node[];
  /** The claims of all generations in hub shape. */
  readonly claims: readonly NodeClaim[];
  readonly volumeClaims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly storageClasses: readonly StorageClass[];
  readonly csiNodes: readonly CSINode[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly priorityClasses: readonly PriorityClass[];
  readonly namespaces: readonly Namespace[];
  readonly services: readonly Service[];
  readonly limitRanges: readonly LimitRange[];
  /** ResourceQuotas, which limit new pods and CapacityBuffers. */
  readonly quotas: readonly ResourceQuota[];
  readonly runtimeClasses: readonly RuntimeClass[];
  readonly overlays: readonly NodeOverlay[];
  readonly buffers: readonly CapacityBuffer[];
  readonly podTemplates: readonly StoredPodTemplate[];
  /** Device claims and devices. */
  readonly devices: Omit<DeviceFacts, "compile">;
  /** Number of skipped objects by kind. */
  readonly unused: ReadonlyMap<string, number>;
  /** The place of an object in the files: `app.yaml, document 2`. Undefined for objects of a live cluster. */
  readonly placeOf: (object: KubeObject) => string | undefined;
  /** Adds the API server's defaults to an object that planning creates. */
  readonly withDefaults: <T extends KubeObject>(object: T) => T;
}

/** Kinds that do not influence planning and are skipped without a note. */
const SILENT = new Set(["ConfigMap", "Secret", "ServiceAccount", "KWOKNodeClass", "Event"]);
const CURRENT: Readonly<Record<string, string>> = {
  NodePool: "karpenter.sh/v1",
  NodeClaim: "karpenter.sh/v1",
  EC2NodeClass: "karpenter.k8s.aws/v1",
};

/** Sorts the objects. Throws CliError with place and field of everything that the API server would refuse. */
export function sortManifests(found: readonly Found[]): Manifests {
  const { byKind, unused, seen } = readAll(found);
  const of = <T extends KubeObject>(...kinds: readonly LookedAt[]): T[] =>
    kinds.flatMap((kind) => {
      const objects = byKind.get(kind) ?? [];
      byKind.delete(kind);
      return inOrder(objects) as T[];
    });
  const isLive = (one: KubeObject) => seen.get(`${one.kind} ${keyOf(one)}`)?.live === true;
  const workloads = of(...WORKLOAD_KINDS);
  const manifests = {
    pods: of<Pod>("Pod"),
    workloads: workloads.filter((one) => !isLive(one)),
    liveWorkloads: workloads.filter(isLive),
    cronJobs: of<CronJob>("CronJob"),
    autoscalers: of<Autoscaler>("HorizontalPodAutoscaler"),
    verticalAutoscalers: of<VerticalPodAutoscaler>("VerticalPodAutoscaler"),
    daemonSets: of<DaemonSet>("DaemonSet"),
    pools: of<NodePool | Provisioner>("NodePool", "Provisioner"),
    nodeClasses: of<EC2NodeClass | AWSNodeTemplate>("EC2NodeClass", "AWSNodeTemplate"),
    nodes: of<Node>("Node"),
    claims: of("NodeClaim", "Machine").map(toClaim),
    volumeClaims: of<PersistentVolumeClaim>("PersistentVolumeClaim"),
    volumes: of<PersistentVolume>("PersistentVolume"),
    storageClasses: of<StorageClass>("StorageClass"),
    csiNodes: of<CSINode>("CSINode"),
    budgets: of<PodDisruptionBudget>("PodDisruptionBudget"),
    priorityClasses: of<PriorityClass>("PriorityClass"),
    namespaces: of<Namespace>("Namespace"),
    services: of<Service>("Service"),
    limitRanges: of<LimitRange>("LimitRange"),
    quotas: of<ResourceQuota>("ResourceQuota"),
    runtimeClasses: of<RuntimeClass>("RuntimeClass"),
    overlays: of<NodeOverlay>("NodeOverlay"),
    buffers: of<CapacityBuffer>("CapacityBuffer"),
    podTemplates: of<StoredPodTemplate>("PodTemplate"),
    devices: {
      slices: of<ResourceSlice>("ResourceSlice"),
      claims: of<ResourceClaim>("ResourceClaim"),
      templates: of<ResourceClaimTemplate>("ResourceClaimTemplate"),
      classes: of<DeviceClass>("DeviceClass"),
    },
    unused,
    placeOf: (one: KubeObject) => {
      const place = seen.get(`${one.kind} ${keyOf(one)}`);
      return place === undefined || place.live ? undefined : place.where;
    },
    withDefaults: <T extends KubeObject>(object: T): T => {
      const definition = definitionOf(object);
      return definition === undefined ? object : (definition.applyDefaults(object) as T);
    },
  };
  for (const [kind, objects] of byKind) {
    if (!SILENT.has(kind)) unused.set(kind, objects.length);
  }
  return manifests;
}

/** Reads all objects: by kind, the number of unknown kinds, and the place of each object. Throws CliError. */
function readAll(found: readonly Found[]) {
  const byKind = new Map<string, KubeObject[]>();
  const unused = new Map<string, number>();
  const seen = new Map<string, { readonly where: string; readonly live: boolean }>();
  const problems: string[] = [];
  for (const { where, object, live } of withNames(found)) {
    const kind = object.kind as string;
    const read = collecting(problems, () =>
      live === true ? newest(where, object) : readObject(where, object),
    );
    if (read === REFUSED) continue;
    if (read === undefined) {
      unused.set(kind, (unused.get(kind) ?? 0) + 1);
      continue;
    }
    const id = `${kind} ${keyOf(read)}`;
    const before = seen.get(id);
    // An object in a file replaces the same object in the cluster.
    if (before !== undefined && !before.live) {
      problems.push(`${where}: ${id} is also in ${before.where}`);
      continue;
    }
    seen.set(id, { where, live: live === true });
    const same = byKind.get(kind) ?? [];
    const others = before === undefined ? same : same.filter((one) => keyOf(one) !== keyOf(read));
    others.push(read);
    byKind.set(kind, others);
  }
  if (problems.length > 0) throw new CliError(problems);
  return { byKind, unused, seen };
}

function inOrder(objects: readonly KubeObject[]): KubeObject[] {
  const keyed = objects.map((object) => ({ object, key: keyOf(object) }));
  return keyed.sort((a, b) => compareText(a.key, b.key)).map(({ object }) => object);
}

/**
 * Gives names to objects with `generateName`. Instead of random letters they get numbers from 0, skipping names in
 * use. The order depends on the objects' content, not on their place in the files.
 */
function withNames(found: readonly Found[]): Found[] {
  const idOf = ({ kind, metadata }: KubeObject, name: unknown): string =>
    `${kind} ${metadata?.namespace ?? "default"} ${name}`;
  const taken = new Set(found.map(({ object }) => idOf(object, object.metadata?.name)));
  const numbers = new Map<string, number>();
  const names = new Map<Found, string>();
  const nameless = found
    .filter(({ object: { metadata } }) => isToBeNamed(metadata))
    .map((one) => ({ one, said: canonicalJson(one.object) }))
    .sort((a, b) => compareText(a.said, b.said));
  for (const { one } of nameless) {
    const { generateName } = one.object.metadata;
    const start = idOf(one.object, generateName);
    let number = numbers.get(start) ?? 0;
    while (taken.has(`${start}${number}`)) number++;
    taken.add(`${start}${number}`);
    numbers.set(start, number + 1);
    names.set(one, `${generateName}${number}`);
  }
  return found.map((one) => {
    const name = names.get(one);
    if (name === undefined) return one;
    return { ...one, object: { ...one.object, metadata: { ...one.object.metadata, name } } };
  });
}

function isToBeNamed(metadata: Partial<ObjectMeta> | undefined): boolean {
  return metadata?.name === undefined && typeof metadata?.generateName === "string";
}

/** The object as the API server would store it. Undefined for an unknown kind. */
function readObject(where: string, object: KubeObject): KubeObject | undefined {
  const definition = definitionOf(object);
  if (definition === undefined) {
    refuseSlip(knownKinds().list(), where, object);
    return undefined;
  }
  if (object.metadata?.name === undefined)
    throw refused(where, object, ["metadata.name: Required value"]);
  const namespace = object.metadata.namespace ?? "default";
  const named = {
    ...object,
    metadata: { ...object.metadata, ...(definition.namespaced ? { namespace } : {}) },
  };
  const { value, wrongTypes, wrong, unknown, isWhole } = readable(definition, named);
  if (!isWhole) throw refused(where, object, wrongTypes);
  const unknownTexts = unknown.map((path) => unknownFieldText(definition.schema, path));
  const problems = [...wrongTypes, ...unknownTexts];
  const mistyped = alphaTypeProblem(value);
  // The defaults and rules of v1alpha5 kinds need correct types.
  if (mistyped !== undefined) throw refused(where, object, [...problems, mistyped]);
  const complete = withAlphaDefaults(definition.applyDefaults(value));
  // The status of a custom kind is not checked, as on creation.
  const judged = isCustom(definition) ? definition.prepareCreate(complete) : complete;
  const errors = definition.validate(judged, undefined).filter(({ field }) => !wrong.has(field));
  const real = errors.filter((error) => !isRemark(error));
  const told = real.length > 0 || problems.length > 0 ? real : errors;
  problems.push(...told.map((error) => fieldErrorText(error, judged)));
  if (problems.length === 0) problems.push(...alphaProblems(complete));
  // Planning reads the images, subnets and reservations that Karpenter found for a class.
  const misread = complete.kind === "EC2NodeClass" ? statusTypeProblem(complete) : undefined;
  if (misread !== undefined) problems.push(misread);
  if (problems.length > 0) throw refused(where, object, problems);
  return newest(where, complete);
}

/** Converts an object of a live cluster to the version for planning. Throws CliError. */
export function currentVersion(object: KubeObject): KubeObject {
  return newest(`${object.kind} ${object.metadata.name} of the cluster`, object);
}

function newest(where: string, object: KubeObject): KubeObject {
  const version = CURRENT[object.kind as string];
  if (version === undefined) return object;
  try {
    return convertObject(object, version);
  } catch (error) {
    if (error instanceof ConversionError) throw refused(where, object, [error.message]);
    throw error;
  }
}

const ADMISSION = {
  clusterName: "plan",
  acceptMinusOne: true,
  defaultInstanceProfile: "plan",
} as const;

function withAlphaDefaults(object: KubeObject): KubeObject {
  return object.kind === "Provisioner"
    ? defaultedProvisioner(object as Provisioner, ADMISSION)
    : object;
}

/** Errors of v1alpha5 kinds, whose schemas check little. Their webhooks have the rules. */
function alphaProblems(object: KubeObject): readonly string[] {
  if (object.kind === "AWSNodeTemplate") {
    return lines(validateAwsBlock((object as AWSNodeTemplate).spec ?? {}, "template"));
  }
  if (object.kind !== "Provisioner") return [];
  const provisioner = object as Provisioner;
  return lines([
    ...validateProvisioner(provisioner, ADMISSION),
    ...validateInlineProvider(provisioner.spec?.provider, ADMISSION),
  ]);
}

function lines(problems: readonly FieldProblem[]): readonly string[] {
  return problems.map((problem) => problemsText([problem]));
}

function refused(where: string, object: KubeObject, problems: readonly string[]): CliError {
  const name: unknown = object.metadata?.name;
  const shown = typeof name === "string" ? ` ${name}` : "";
  return new CliError(
    problems.map((what) => `${where}: ${object.kind}${shown}: ${shownSentence(what)}`),
  );
}

const REFUSED = Symbol("refused");

/** Returns the result of `read`. If it throws CliError, adds its sentences to `problems` and returns REFUSED. */
function collecting<T>(problems: string[], read: () => T): T | typeof REFUSED {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    problems.push(...error.problems);
    return REFUSED;
  }
}

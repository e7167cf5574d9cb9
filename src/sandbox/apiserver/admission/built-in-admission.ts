/**
 * The admission plugins that change objects and that kube-apiserver enables by default, as far as users notice
 * them: LimitRanger, Priority, DefaultTolerationSeconds, ServiceAccount, RuntimeClass,
 * StorageObjectInUseProtection, TaintNodesByCondition, and the default storage and ingress classes. Services
 * get their nodePorts here too.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";
import { withNodePorts } from "../objects/service-ports.ts";
import { withLimitDefaults } from "../quota/limit-ranger.ts";
import { forbidden } from "../request/status.ts";
import type { Admission } from "./admission-request.ts";
import { withDefaultIngressClass, withDefaultStorageClass } from "./class-admission.ts";
import { withClassOfPod } from "./runtime-class-admission.ts";
import { withServiceAccount } from "./service-account-admission.ts";

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

interface Taint {
  readonly key: string;
  readonly effect: string;
}

interface PodShape extends KubeObject {
  readonly spec?: {
    readonly priorityClassName?: string;
    readonly priority?: number;
    readonly preemptionPolicy?: string;
    readonly tolerations?: readonly Toleration[];
    readonly serviceAccountName?: string;
  };
}

interface PriorityClassShape extends KubeObject {
  readonly value?: number;
  readonly globalDefault?: boolean;
  readonly preemptionPolicy?: string;
}

/**
 * Seconds that a pod stays on a node that is not ready or unreachable, unless the pod has its own toleration
 * for that taint.
 */
const DEFAULT_TOLERATION_SECONDS = 300;

/**
 * Finalizers that protect objects in use, by resource. upstream:
 * plugin/pkg/admission/storage/storageobjectinuseprotection
 */
const PROTECTED: Readonly<Record<string, string>> = {
  persistentvolumeclaims: "kubernetes.io/pvc-protection",
  persistentvolumes: "kubernetes.io/pv-protection",
};

/**
 * The object with the fields that the built-in plugins add. Throws 403 for an object that a plugin refuses.
 */
export function admitBuiltIn(call: Call, admission: Admission<KubeObject>): KubeObject {
  const { definition } = call;
  if (definition.group === "" && definition.kind === "Pod") {
    const pod = admission.object as PodShape;
    if (pod.spec === undefined || pod.spec === null) return pod;
    if (admission.operation !== "CREATE") return withDefaultTolerations(pod);
    // The plugins run in kube-apiserver's order. upstream: pkg/kubeapiserver/options/plugins.go
    const named = withServiceAccount(call, withLimitDefaults(call, pod));
    return withClassOfPod(call, withDefaultTolerations(withPriority(call, named)));
  }
  const protection = PROTECTED[definition.storageKey];
  if (protection !== undefined && admission.operation === "CREATE") {
    const kept = withFinalizer(admission.object, protection);
    return definition.storageKey === "persistentvolumeclaims"
      ? withDefaultStorageClass(call, kept)
      : kept;
  }
  const isIngress = definition.storageKey === "networking.k8s.io/ingresses";
  if (isIngress && admission.operation === "CREATE")
    return withDefaultIngressClass(call, admission.object);
  if (definition.group === "" && definition.kind === "Service")
    return withNodePorts(call, admission.object, admission.old);
  const isNode = definition.group === "" && definition.kind === "Node";
  if (isNode && admission.operation === "CREATE") return withNotReadyTaint(admission.object);
  return admission.object;
}

function withFinalizer(object: KubeObject, finalizer: string): KubeObject {
  const { finalizers = [] } = object.metadata;
  if (finalizers.includes(finalizer)) return object;
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
}

/**
 * Adds the taint not-ready to a new Node. The node lifecycle controller removes it once the Node is ready.
 */
function withNotReadyTaint(object: KubeObject): KubeObject {
  const { spec } = object as KubeObject & { spec?: { taints?: readonly Taint[] } };
  const taints = spec?.taints ?? [];
  const taint: Taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return object;
  return { ...object, spec: { ...spec, taints: [...taints, taint] } } as KubeObject;
}

function withPriority(call: Call, pod: PodShape): PodShape {
  const { spec } = pod;
  const wanted = spec?.priorityClassName ?? "";
  const { store } = call.engine;
  const storageKey = "scheduling.k8s.io/priorityclasses";
  let found: PriorityClassShape | undefined;
  if (wanted !== "") {
    found = store.get(storageKey, undefined, wanted) as PriorityClassShape | undefined;
    if (found === undefined) {
      throw forbidden(
        call.definition,
        pod.metadata.name,
        `no PriorityClass with name ${wanted} was found`,
      );
    }
  } else {
    const all = store.list(storageKey).objects as readonly PriorityClassShape[];
    found = all
      .filter((priorityClass) => priorityClass.globalDefault === true)
      .sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  }
  const priority = found?.value ?? 0;
  if (spec?.priority !== undefined && spec.priority !== priority) {
    throw forbidden(
      call.definition,
      pod.metadata.name,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  }
  const preemptionPolicy =
    spec?.preemptionPolicy ?? found?.preemptionPolicy ?? "PreemptLowerPriority";
  return {
    ...pod,
    spec: {
      ...spec,
      ...(found === undefined ? {} : { priorityClassName: found.metadata.name }),
      priority,
      preemptionPolicy,
    },
  };
}

function withDefaultTolerations(pod: PodShape): PodShape {
  const tolerations = pod.spec?.tolerations ?? [];
  const missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].filter(
    (key) =>
      !tolerations.some(
        (toleration) =>
          (toleration.key === key || toleration.key === undefined || toleration.key === "") &&
          (toleration.effect === "NoExecute" ||
            toleration.effect === undefined ||
            toleration.effect === ""),
      ),
  );
  if (missing.length === 0) return pod;
  const added = missing.map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: DEFAULT_TOLERATION_SECONDS,
  }));
  return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } };
}

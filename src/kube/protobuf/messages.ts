/**
 * The fields of a pod that decisions read, as Kubernetes' protobuf messages: numbers, names and types, and a reader
 * that returns the same values as JSON. Other fields are skipped.
 * upstream: k8s.io/api/core/v1/generated.proto, k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto
 */
import { toRfc3339 } from "../../base/clock.ts";
import type { Fields } from "./fields.ts";

/**
 * The fields of each message, written as `number name type`. `[]` is a list, `{}` a map with text keys. With `!`, the
 * message's fields belong to the surrounding object. Exported for tests.
 */
export const MESSAGES = {
  Pod: "1 metadata ObjectMeta, 2 spec PodSpec, 3 status PodStatus",
  ObjectMeta:
    "1 name string, 2 generateName string, 3 namespace string, 5 uid string, 6 resourceVersion string, " +
    "7 generation int, 8 creationTimestamp Time, 9 deletionTimestamp Time, 10 deletionGracePeriodSeconds int, " +
    "11 labels string{}, 12 annotations string{}, 13 ownerReferences OwnerReference[], 14 finalizers string[]",
  OwnerReference:
    "1 kind string, 3 name string, 4 uid string, 5 apiVersion string, 6 controller bool, 7 blockOwnerDeletion bool",
  PodSpec:
    "1 volumes Volume[], 2 containers Container[], 3 restartPolicy string, 4 terminationGracePeriodSeconds int, " +
    "5 activeDeadlineSeconds int, 6 dnsPolicy string, 7 nodeSelector string{}, 8 serviceAccountName string, " +
    "9 serviceAccount string, 10 nodeName string, 11 hostNetwork bool, 12 hostPID bool, 13 hostIPC bool, " +
    "16 hostname string, 17 subdomain string, 18 affinity Affinity, 19 schedulerName string, " +
    "20 initContainers Container[], 21 automountServiceAccountToken bool, 22 tolerations Toleration[], " +
    "24 priorityClassName string, 25 priority int, 27 shareProcessNamespace bool, 29 runtimeClassName string, " +
    "30 enableServiceLinks bool, 31 preemptionPolicy string, 32 overhead Quantity{}, " +
    "33 topologySpreadConstraints TopologySpreadConstraint[], 35 setHostnameAsFQDN bool, 36 os PodOS, " +
    "37 hostUsers bool, 38 schedulingGates PodSchedulingGate[], 39 resourceClaims PodResourceClaim[], " +
    "40 resources ResourceRequirements",
  Container:
    "1 name string, 6 ports ContainerPort[], 8 resources ResourceRequirements, 24 restartPolicy string",
  ContainerPort:
    "1 name string, 2 hostPort int, 3 containerPort int, 4 protocol string, 5 hostIP string",
  ResourceRequirements: "1 limits Quantity{}, 2 requests Quantity{}, 3 claims ResourceClaim[]",
  ResourceClaim: "1 name string, 2 request string",
  Toleration:
    "1 key string, 2 operator string, 3 value string, 4 effect string, 5 tolerationSeconds int",
  Affinity: "1 nodeAffinity NodeAffinity, 2 podAffinity PodAffinity, 3 podAntiAffinity PodAffinity",
  NodeAffinity:
    "1 requiredDuringSchedulingIgnoredDuringExecution NodeSelector, " +
    "2 preferredDuringSchedulingIgnoredDuringExecution PreferredSchedulingTerm[]",
  NodeSelector: "1 nodeSelectorTerms NodeSelectorTerm[]",
  NodeSelectorTerm: "1 matchExpressions Requirement[], 2 matchFields Requirement[]",
  Requirement: "1 key string, 2 operator string, 3 values string[]",
  PreferredSchedulingTerm: "1 weight int, 2 preference NodeSelectorTerm",
  PodAffinity:
    "1 requiredDuringSchedulingIgnoredDuringExecution PodAffinityTerm[], " +
    "2 preferredDuringSchedulingIgnoredDuringExecution WeightedPodAffinityTerm[]",
  PodAffinityTerm:
    "1 labelSelector LabelSelector, 2 namespaces string[], 3 topologyKey string, " +
    "4 namespaceSelector LabelSelector, 5 matchLabelKeys string[], 6 mismatchLabelKeys string[]",
  WeightedPodAffinityTerm: "1 weight int, 2 podAffinityTerm PodAffinityTerm",
  TopologySpreadConstraint:
    "1 maxSkew int, 2 topologyKey string, 3 whenUnsatisfiable string, 4 labelSelector LabelSelector, " +
    "5 minDomains int, 6 nodeAffinityPolicy string, 7 nodeTaintsPolicy string, 8 matchLabelKeys string[]",
  LabelSelector: "1 matchLabels string{}, 2 matchExpressions Requirement[]",
  PodOS: "1 name string",
  PodSchedulingGate: "1 name string",
  PodResourceClaim: "1 name string, 3 resourceClaimName string, 4 resourceClaimTemplateName string",
  Volume: "1 name string, 2 !source VolumeSource",
  VolumeSource: "10 persistentVolumeClaim ClaimSource, 29 ephemeral EphemeralSource",
  ClaimSource: "1 claimName string, 2 readOnly bool",
  EphemeralSource: "1 volumeClaimTemplate ClaimTemplate",
  ClaimTemplate: "1 metadata ObjectMeta, 2 spec ClaimSpec",
  ClaimSpec:
    "1 accessModes string[], 2 resources ResourceRequirements, 3 volumeName string, 4 selector LabelSelector, " +
    "5 storageClassName string, 6 volumeMode string, 9 volumeAttributesClassName string",
  PodStatus:
    "1 phase string, 2 conditions Condition[], 4 reason string, 7 startTime Time, " +
    "8 containerStatuses ContainerStatus[], 10 initContainerStatuses ContainerStatus[], 11 nominatedNodeName string, " +
    "15 resourceClaimStatuses PodResourceClaimStatus[], " +
    "19 allocatedResources Quantity{}, 20 resources ResourceRequirements",
  PodResourceClaimStatus: "1 name string, 2 resourceClaimName string",
  Condition: "1 type string, 2 status string, 5 reason string, 6 message string",
  ContainerStatus:
    "1 name string, 4 ready bool, 10 allocatedResources Quantity{}, 11 resources ResourceRequirements",
  Status: "2 status string, 3 message string, 4 reason string, 6 code int",
} as const satisfies Readonly<Record<string, string>>;

type MessageName = keyof typeof MESSAGES;

interface Field {
  readonly name: string;
  readonly type: string;
  readonly shape: "one" | "list" | "map" | "inline";
}

type Message = ReadonlyMap<number, Field>;

const known = new Map<string, Message>();

/**
 * Numbers and truth values that Go leaves out of JSON if they are 0 or false, because their Go fields are not
 * pointers.
 */
const NOTHING_IS_ABSENT: ReadonlySet<string> = new Set([
  "generation",
  "hostNetwork",
  "hostPID",
  "hostIPC",
  "hostPort",
  "readOnly",
]);

/** The fields in {@link MESSAGES} as JSON values. */
export function readMessage(name: MessageName, fields: Fields): Record<string, unknown> {
  return readFields(messageNamed(name), fields);
}

function readFields(message: Message, fields: Fields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  while (fields.next()) {
    const field = message.get(fields.number);
    if (field === undefined) continue;
    const { name, shape, type } = field;
    const value = shape === "map" ? undefined : readValue(type, fields);
    if (shape === "list") {
      result[name] ??= [];
      (result[name] as unknown[]).push(value);
    } else if (shape === "map") {
      result[name] ??= {};
      const [key, entry] = readEntry(type, fields.inner());
      (result[name] as Record<string, unknown>)[key] = entry;
    } else if (shape === "inline") Object.assign(result, value);
    else if (!isAbsent(name, value)) result[name] = value;
  }
  return result;
}

function isAbsent(name: string, value: unknown): boolean {
  // For storageClassName an empty name means "no class", and a missing one "the default class".
  if (value === "") return name !== "storageClassName";
  return value === undefined || ((value === 0 || value === false) && NOTHING_IS_ABSENT.has(name));
}

function readValue(type: string, fields: Fields): unknown {
  switch (type) {
    case "string":
      return fields.text();
    case "int":
      return fields.value();
    case "bool":
      return fields.value() !== 0;
    case "Time":
      return readTime(fields.inner());
    case "Quantity": {
      const inner = fields.inner();
      return inner.next() ? inner.text() : "0";
    }
    default:
      return readFields(messageNamed(type), fields.inner());
  }
}

/** The time as text, from seconds since 1970. Undefined: there are no seconds. */
export function readTime(fields: Fields): string | undefined {
  while (fields.next()) if (fields.number === 1) return timeText(fields.value());
  return undefined;
}

/** The text of each time. It is created once, because many pods have times in the same second. */
const timeTexts = new Map<number, string>();
const TIMES_LIMIT = 4_096;

function timeText(seconds: number): string {
  let text = timeTexts.get(seconds);
  if (text === undefined) {
    if (timeTexts.size >= TIMES_LIMIT) timeTexts.clear();
    text = toRfc3339(seconds * 1_000);
    timeTexts.set(seconds, text);
  }
  return text;
}

function readEntry(type: string, fields: Fields): [string, unknown] {
  let key = "";
  let value: unknown = "";
  while (fields.next()) {
    if (fields.number === 1) key = fields.text();
    else value = readValue(type, fields);
  }
  return [key, value];
}

function messageNamed(name: string): Message {
  let message = known.get(name);
  if (message === undefined) {
    message = new Map(MESSAGES[name as MessageName].split(", ").map(parseField));
    known.set(name, message);
  }
  return message;
}

function parseField(text: string): [number, Field] {
  const [number, name, type] = text.split(" ") as [string, string, string];
  if (name.startsWith("!")) return [Number(number), { name: name.slice(1), type, shape: "inline" }];
  const shape = type.endsWith("[]") ? "list" : type.endsWith("{}") ? "map" : "one";
  return [Number(number), { name, type: type.replace(/\[\]$|\{\}$/, ""), shape }];
}

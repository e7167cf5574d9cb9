/**
 * Every right that the controller needs, with its reason. The chart's roles, the reference page and the rights of
 * the sandbox's Karpenter are made from this table. The sandbox refuses all other requests, as a cluster would, so
 * tests prove that the rights suffice. `test/rights.test.ts` finds rights that no test uses.
 * upstream: charts/karpenter/templates/clusterrole*.yaml
 */
import { webhookConfigurations } from "../apis/hub/admission.ts";
import { FACTS } from "../apis/karpenter/facts.ts";
import { type RequestVerb, requestVerb } from "../kube/client/request-verb.ts";
import type { KubeRequest, KubeResponse, Transport } from "../kube/transport/transport.ts";
import { LOGGING_CONFIG } from "./logging/logging-config.ts";
import { GLOBAL_SETTINGS } from "./settings/global-settings.ts";
import { ADMITTED, CONVERTED } from "./webhooks/registration.ts";

/** The providers of `--provider`. */
export type ProviderName = "aws" | "kwok";

/** Feature gates that need rights of their own. */
export type RightsGate = "PodDeletionCostManagement";

/** One rule of a role. */
export interface Right {
  /** The API group. It is `""` for the core group. */
  readonly group: string;
  /** The resources, also subresources such as `pods/eviction`. */
  readonly resources: readonly string[];
  readonly verbs: readonly RequestVerb[];
  /** The only names to which the rule applies. Absent: all. */
  readonly names?: readonly string[];
  /**
   * The scope of the rule: the cluster, the controller's own namespace, kube-system, or the namespaces of
   * `--surge-namespaces`.
   */
  readonly where: "cluster" | "own namespace" | "kube-system" | "surge namespaces";
  /** The namespaces of `--surge-namespaces`, once they are known. */
  readonly namespaces?: readonly string[];
  /** The only provider that needs the right. Absent: all do. */
  readonly provider?: ProviderName;
  /** Whether only `--surge-timeout` above 0 needs the right. */
  readonly surges?: boolean;
  /** The only feature gate that needs the right. Absent: it is always needed. */
  readonly gate?: RightsGate;
  readonly why: string;
}

const READ = ["list", "watch"] as const;

/**
 * The rights are for this name of the Lease. Another name needs a rule in the chart's additionalClusterRoleRules.
 */
const LEASE_NAME = "karpenter-leader-election";
/** The reason of the rights to read definitions by their names. */
const NOT_SERVED =
  "whether a kind that is not served is really not installed; if it is, its objects may exist";

/** Every right of the controller, with the reason. The chart's roles are made from it. */
export const RIGHTS: readonly Right[] = [
  right(
    "karpenter.sh",
    ["nodepools", "provisioners"],
    ["get", ...READ],
    "NodePools are the input of each decision",
  ),
  right(
    "karpenter.sh",
    ["nodepools", "nodepools/status", "provisioners", "provisioners/status"],
    ["patch"],
    "hash annotations, node counts and conditions",
  ),
  right(
    "karpenter.sh",
    ["nodeclaims", "machines"],
    ["get", ...READ, "create", "patch", "delete"],
    "a claim is created for each node, watched, and deleted with it",
  ),
  right("karpenter.sh", ["nodeclaims/status", "machines/status"], ["patch"], "conditions"),
  right(
    "karpenter.k8s.aws",
    ["ec2nodeclasses", "awsnodetemplates"],
    [...READ, "patch"],
    "launch settings; hash annotation and finalizer",
    { provider: "aws" },
  ),
  right(
    "karpenter.k8s.aws",
    ["ec2nodeclasses/status", "awsnodetemplates/status"],
    ["patch"],
    "discovered subnets, images and so on; conditions",
    { provider: "aws" },
  ),
  right("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"], NOT_SERVED, {
    names: [
      "capacitybuffers.autoscaling.x-k8s.io",
      "nodeclaims.karpenter.sh",
      "nodeoverlays.karpenter.sh",
      "nodepools.karpenter.sh",
      "machines.karpenter.sh",
      "provisioners.karpenter.sh",
      "verticalpodautoscalers.autoscaling.k8s.io",
    ],
  }),
  right("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"], NOT_SERVED, {
    names: ["awsnodetemplates.karpenter.k8s.aws", "ec2nodeclasses.karpenter.k8s.aws"],
    provider: "aws",
  }),
  right("apiextensions.k8s.io", ["customresourcedefinitions"], ["get"], NOT_SERVED, {
    names: ["kwoknodeclasses.karpenter.kwok.sh"],
    provider: "kwok",
  }),
  right(
    "karpenter.sh",
    ["nodeoverlays"],
    READ,
    "prices and resources that replace those of instance types",
  ),
  right("karpenter.sh", ["nodeoverlays/status"], ["patch"], "whether an overlay has an effect"),
  right(
    "resource.k8s.io",
    ["deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"],
    READ,
    "the devices that pods claim, and the devices that exist; unused with --ignore-dra-requests",
  ),
  right(
    "autoscaling.x-k8s.io",
    ["capacitybuffers"],
    READ,
    "room to keep free; only used with the gate CapacityBuffer, as the next four rows",
  ),
  right(
    "autoscaling.x-k8s.io",
    ["capacitybuffers/status"],
    ["patch"],
    "conditions and replicas of buffers",
  ),
  right(
    "",
    ["podtemplates", "resourcequotas"],
    READ,
    "templates of buffers; quotas that limit buffers",
  ),
  right(
    "apps",
    ["deployments", "replicasets", "statefulsets"],
    ["get", ...READ],
    "workloads that buffers refer to",
  ),
  right("batch", ["jobs"], ["get"], "workloads that buffers refer to"),
  right("karpenter.kwok.sh", ["kwoknodeclasses"], READ, "launch settings", { provider: "kwok" }),
  right("karpenter.kwok.sh", ["kwoknodeclasses/status"], ["patch"], "conditions", {
    provider: "kwok",
  }),
  right(
    "",
    ["pods"],
    [...READ, "delete"],
    "pending pods are planned; pods are deleted when a node's grace period ends",
  ),
  right("", ["pods"], ["patch"], "deletion costs of pods on nodes that are disrupted next", {
    gate: "PodDeletionCostManagement",
  }),
  right("", ["pods/eviction"], ["create"], "drains respect PodDisruptionBudgets"),
  right(
    "",
    ["nodes"],
    ["get", ...READ, "patch", "delete"],
    "labels, taints and finalizers; a drained node is deleted; on kwok, nodes of a crashed controller are found again",
  ),
  right("", ["nodes"], ["create"], "kwok has no machines, so the controller creates the Node", {
    provider: "kwok",
  }),
  right("", ["nodes/status"], ["patch"], "a reboot on kwok is a new boot ID", { provider: "kwok" }),
  right(
    "",
    ["namespaces", "persistentvolumes", "persistentvolumeclaims"],
    READ,
    "namespace selectors of affinity; zones and limits of volumes",
  ),
  right(
    "storage.k8s.io",
    ["storageclasses", "csinodes", "volumeattachments"],
    READ,
    "zones and limits of volumes; a drained node waits until its volumes are detached",
  ),
  right("apps", ["daemonsets"], READ, "room for their pods is planned on each new node"),
  right("", ["limitranges"], READ, "default requests of DaemonSet pods that do not exist yet"),
  right(
    "node.k8s.io",
    ["runtimeclasses"],
    READ,
    "overhead, node selectors and tolerations of DaemonSet pods that do not exist yet",
  ),
  right(
    "autoscaling.k8s.io",
    ["verticalpodautoscalers"],
    READ,
    "requests of pods that will be created again; unused without --read-vpa-recommendations",
  ),
  right("", ["services", "replicationcontrollers"], READ, "selectors of default topology spread"),
  right("apps", ["replicasets", "statefulsets"], READ, "selectors of default topology spread"),
  right(
    "policy",
    ["poddisruptionbudgets"],
    READ,
    "nodes whose pods may not be evicted are not disrupted",
  ),
  right("apps", ["deployments"], READ, "whether a workload asks to be moved without downtime", {
    surges: true,
  }),
  right(
    "apps",
    ["deployments"],
    ["patch"],
    "if the workload asks for it, a new pod starts before its node is drained",
    { surges: true, where: "surge namespaces" },
  ),
  right("", ["events"], ["create", "patch"], "Events say what was done and why not"),
  right("coordination.k8s.io", ["leases"], ["create"], "leader election: the first replica", {
    where: "own namespace",
  }),
  right("coordination.k8s.io", ["leases"], ["get", "update", "patch"], "leader election", {
    where: "own namespace",
    names: [LEASE_NAME],
  }),
  right("", ["configmaps"], ["get", ...READ], "the log of the older generations: form and levels", {
    where: "own namespace",
    names: [LOGGING_CONFIG],
  }),
  right("", ["configmaps"], ["get"], "settings of the older generations, at the start", {
    where: "own namespace",
    names: [GLOBAL_SETTINGS],
  }),
  right(
    "",
    ["configmaps"],
    ["get", "patch"],
    "settings and prices are told, for karpenter explain",
    {
      where: "own namespace",
      names: [FACTS],
    },
  ),
  right("", ["services"], ["get"], "nodes are told the cluster's DNS address", {
    where: "kube-system",
    names: ["kube-dns"],
    provider: "aws",
  }),
];

/** Moves without downtime: whether `--surge-timeout` is above 0, and the namespaces of `--surge-namespaces`. */
export interface SurgeRights {
  readonly isOn: boolean;
  /** The namespaces of `--surge-namespaces`. `*` means all. */
  readonly namespaces: readonly string[];
}

/**
 * The rights of a controller with this provider. By default no namespace may be patched for surges, as in the
 * chart.
 */
export function rightsOf(
  provider: ProviderName,
  { isOn, namespaces }: SurgeRights = { isOn: true, namespaces: [] },
  gates: readonly RightsGate[] = [],
): readonly Right[] {
  return RIGHTS.filter((one) => one.provider === undefined || one.provider === provider)
    .filter((one) => isOn || one.surges !== true)
    .filter((one) => one.gate === undefined || gates.includes(one.gate))
    .flatMap((one) => {
      if (one.where !== "surge namespaces") return one;
      if (namespaces.includes("*")) return { ...one, where: "cluster" as const };
      return namespaces.length === 0 ? [] : { ...one, namespaces };
    });
}

/** The rights that profiles need besides those of the controllers, with `--enable-profiling`. */
export function profilingRights(): readonly Right[] {
  return reviewRights("a profile", "/debug/pprof");
}

/** The rights to check who a caller is, and whether the caller may get the path. */
function reviewRights(what: string, path: string): readonly Right[] {
  return [
    {
      group: "authentication.k8s.io",
      resources: ["tokenreviews"],
      verbs: ["create"],
      where: "cluster",
      why: `identifies the user who opens ${what}`,
    },
    {
      group: "authorization.k8s.io",
      resources: ["subjectaccessreviews"],
      verbs: ["create"],
      where: "cluster",
      why: `whether that user may get ${path}`,
    },
  ];
}

/** The rights that the console needs besides those of the controllers, with `--console-port` above 0. */
export function consoleRights(): readonly Right[] {
  return [
    ...reviewRights("the console", "/console"),
    {
      group: "",
      resources: ["events"],
      verbs: READ,
      where: "cluster",
      why: "the console shows Events about decisions",
    },
  ];
}

const CONFIGURATIONS = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/**
 * The rights that webhooks need besides those of the controllers, if they are served. The verb `create` is optional:
 * without it, webhooks fill in the objects that a chart has installed. `service`: the value of `--karpenter-service`,
 * from which the name of the Secret follows.
 * upstream: charts/karpenter/templates/clusterrole-core.yaml at v1.0
 */
export function webhookRights(service = "karpenter"): readonly Right[] {
  return [
    {
      group: "apiextensions.k8s.io",
      resources: ["customresourcedefinitions"],
      verbs: ["get", "list", "watch"],
      names: [...CONVERTED, ...ADMITTED],
      where: "cluster",
      why: "which API versions are installed",
    },
    {
      group: "apiextensions.k8s.io",
      resources: ["customresourcedefinitions"],
      verbs: ["update"],
      names: CONVERTED,
      where: "cluster",
      why: "writes the address and the certificate of the conversion webhook",
    },
    {
      group: "admissionregistration.k8s.io",
      resources: CONFIGURATIONS,
      verbs: ["get", "update"],
      names: webhookConfigurations().map(({ metadata }) => metadata.name),
      where: "cluster",
      why: "writes the address and the certificate of the admission webhooks",
    },
    {
      group: "admissionregistration.k8s.io",
      resources: CONFIGURATIONS,
      verbs: ["create"],
      where: "cluster",
      why: "not needed if the chart creates the configurations",
    },
    {
      group: "",
      resources: ["secrets"],
      verbs: ["get", "update"],
      names: [`${service}-cert`],
      where: "own namespace",
      why: "all replicas use one certificate",
    },
    {
      group: "",
      resources: ["secrets"],
      verbs: ["create"],
      where: "own namespace",
      why: "not needed if the chart creates the empty Secret",
    },
    {
      group: "",
      resources: ["services"],
      verbs: ["get"],
      names: [service],
      where: "own namespace",
      why: "webhooks are registered only if their Service exists",
    },
  ];
}

/** One request, as Kubernetes' authorizers see it. */
export interface Access {
  readonly verb: RequestVerb;
  readonly group: string;
  /** The resource with its subresource, as in `pods/eviction`. */
  readonly resource: string;
  /** The namespace of the request. Undefined: the request is cluster-wide. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/**
 * The right that a request needs. Undefined for paths without a resource (`/apis`, `/version`), which every authenticated
 * user may read. Exported for tests.
 */
export function accessOf({
  method,
  path,
}: Pick<KubeRequest, "method" | "path">): Access | undefined {
  const [route = "", query = ""] = path.split("?");
  const parts = route
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  const isCore = parts[0] === "api";
  const rest = parts.slice(isCore ? 2 : 3);
  if ((!isCore && parts[0] !== "apis") || rest.length === 0) return undefined;
  const group = isCore ? "" : (parts[1] ?? "");
  const scoped = rest[0] === "namespaces" && rest.length > 2;
  const [resource = "", name, subresource] = scoped ? rest.slice(2) : rest;
  const parameters = new URLSearchParams(query);
  // A list with a field selector for one name counts as a request for that object.
  const narrowed = /^metadata\.name=([^,]+)$/.exec(parameters.get("fieldSelector") ?? "")?.[1];
  return {
    verb: requestVerb(method, name !== undefined, /^(1|true)$/.test(parameters.get("watch") ?? "")),
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace: scoped ? rest[1] : undefined,
    name: name ?? narrowed,
  };
}

/** The first right that allows the request. `own`: the controller's namespace. Exported for tests. */
export function coveredBy(
  access: Access,
  rights: readonly Right[],
  own: string,
): Right | undefined {
  return rights.find(
    (one) =>
      one.group === access.group &&
      one.resources.includes(access.resource) &&
      one.verbs.includes(access.verb) &&
      (one.names === undefined || (access.name !== undefined && one.names.includes(access.name))) &&
      isWithin(access.namespace, one, own),
  );
}

function isWithin(namespace: string | undefined, { where, namespaces }: Right, own: string) {
  if (where === "cluster") return true;
  if (namespace === undefined) return false;
  if (where === "surge namespaces") return namespaces?.includes(namespace) === true;
  return namespace === (where === "own namespace" ? own : "kube-system");
}

/** A transport that refuses everything beyond the rights, in kube-apiserver's words. */
export function underRights(
  transport: Transport,
  rights: readonly Right[],
  own: string,
  onUse: (access: Access, right: Right | undefined) => void = () => undefined,
): Transport {
  return {
    close: () => transport.close(),
    send: async (request) => {
      const access = accessOf(request);
      if (access === undefined) return transport.send(request);
      const right = coveredBy(access, rights, own);
      onUse(access, right);
      return right === undefined ? refusal(access, own) : transport.send(request);
    },
  };
}

function refusal(access: Access, own: string): KubeResponse {
  const { verb, group, resource, namespace, name } = access;
  const plain = resource.split("/")[0] ?? resource;
  const what = `${plain}${group === "" ? "" : `.${group}`}`;
  const where =
    namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const who = `system:serviceaccount:${own}:karpenter`;
  const message = `${what}${name === undefined ? "" : ` "${name}"`} is forbidden: User "${who}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
  return {
    status: 403,
    headers: { "content-type": "application/json" },
    body: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: "Forbidden",
      details: { ...(name === undefined ? {} : { name }), group, kind: plain },
      code: 403,
    },
  };
}

function right(
  group: string,
  resources: readonly string[],
  verbs: readonly RequestVerb[],
  why: string,
  more: Partial<Pick<Right, "where" | "names" | "provider" | "surges" | "gate">> = {},
): Right {
  return { group, resources, verbs, where: "cluster", why, ...more };
}

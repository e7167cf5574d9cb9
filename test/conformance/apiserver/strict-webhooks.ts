/** Checks of webhooks that answer with another object, or with no object at all. */
import { type Check, check, del, get, mergePatch, post, type Step } from "./check.ts";
import { CONFIG_MAPS, configMap } from "./config-maps.ts";

const HOOKS = "/apis/admissionregistration.k8s.io/v1";
/** The label of objects by which a check finds out whether its webhooks are in force. */
const PROBE = { probe: "yes" };

/** The resource that the webhooks of a check are called for. */
interface Target {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly path: string;
  readonly probe: object;
}

const CONFIG_MAP_TARGET: Target = {
  apiGroups: [""],
  apiVersions: ["v1"],
  resources: ["configmaps"],
  path: CONFIG_MAPS,
  probe: { ...configMap("probe"), metadata: { name: "probe", labels: PROBE } },
};

const pool = (name: string, labels?: object) => ({
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
        requirements: [],
      },
    },
  },
});

const POOLS: Target = {
  apiGroups: ["karpenter.sh"],
  apiVersions: ["v1"],
  resources: ["nodepools"],
  path: "/apis/karpenter.sh/v1/nodepools",
  probe: pool("check-sj-probe", PROBE),
};

function webhook(does: string, operation: string, target: Target, objectSelector: object): object {
  const { apiGroups, apiVersions, resources } = target;
  return {
    name: `${does}.check.example.com`,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    clientConfig: { url: `<<webhooks.url>>/${does}`, caBundle: "<<webhooks.caBundle>>" },
    namespaceSelector:
      target === CONFIG_MAP_TARGET
        ? { matchLabels: { "kubernetes.io/metadata.name": "<<ns>>" } }
        : {},
    objectSelector,
    rules: [{ apiGroups, apiVersions, resources, operations: [operation] }],
  };
}

/** Writes an object while a webhook changes it in the given way. */
function changed(
  does: string,
  step: Step,
  operation = "CREATE",
  target = CONFIG_MAP_TARGET,
): readonly Step[] {
  const others = { matchExpressions: [{ key: "probe", operator: "DoesNotExist" }] };
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "check-sj" },
    webhooks: [
      webhook(does, operation, target, others),
      webhook("deny", "CREATE", target, { matchLabels: PROBE }),
    ],
  };
  return [
    post(`${HOOKS}/mutatingwebhookconfigurations`, configuration),
    post(`${target.path}?dryRun=All`, target.probe, { until: 400 }),
    step,
    del(`${HOOKS}/mutatingwebhookconfigurations/check-sj`),
    post(`${target.path}?dryRun=All`, target.probe, { until: 201 }),
  ];
}

export const WEBHOOK_ANSWER_CHECKS: readonly Check[] = [
  check(
    "SJ-04",
    "a webhook that makes another object of an object",
    ...["rename", "move", "kind", "no-kind", "version", "empty"].flatMap((does) =>
      changed(does, post(CONFIG_MAPS, configMap(`by-${does}`))),
    ),
    get(`${CONFIG_MAPS}/other`),
    post(CONFIG_MAPS, configMap("there")),
    ...["rename", "move", "kind", "version"].flatMap((does) =>
      changed(does, mergePatch(`${CONFIG_MAPS}/there`, { data: { by: does } }), "UPDATE"),
    ),
    ...["prototype", "into-prototype", "copies", "bad-type", "no-metadata"].flatMap((does) =>
      changed(does, post(CONFIG_MAPS, configMap(`by-${does}`))),
    ),
    ...["rename", "kind", "version", "empty", "no-metadata"].flatMap((does) =>
      changed(does, post(POOLS.path, pool(`check-sj-${does}`)), "CREATE", POOLS),
    ),
    del(`${POOLS.path}/other`),
  ),
  check(
    "SJ-10",
    "webhooks whose answers have the wrong shape",
    ...[
      "bad-warnings",
      "bad-code",
      "code-100",
      "code-600",
      "no-version",
      "no-response",
      "patch-without-type",
      "type-without-patch",
    ].flatMap((does) => changed(does, post(CONFIG_MAPS, configMap(`by-${does}`)))),
  ),
];

/** Schema parts that pools and claims of several API versions have in common: taints, requirements, references. */
import {
  integer,
  type JsonSchema,
  LABEL_VALUE,
  list,
  object,
  QUALIFIED_NAME,
  rules,
  text,
} from "./schema.ts";

export const DURATION = "^([0-9]+(s|m|h))+$";
export const NILLABLE_DURATION = "^(([0-9]+(s|m|h))+|Never)$";

export const AWS_LABEL_DOMAIN = "karpenter.k8s.aws";

/** AWS labels that users may name in pools and claims. */
export const AWS_KEYS: readonly string[] = [
  "capacity-reservation-id",
  "capacity-reservation-interruptible",
  "capacity-reservation-type",
  "ec2nodeclass",
  "instance-accelerator-count",
  "instance-accelerator-manufacturer",
  "instance-accelerator-name",
  "instance-capability-flex",
  "instance-category",
  "instance-cpu",
  "instance-cpu-manufacturer",
  "instance-cpu-sustained-clock-speed-mhz",
  "instance-ebs-bandwidth",
  "instance-encryption-in-transit-supported",
  "instance-family",
  "instance-generation",
  "instance-gpu-count",
  "instance-gpu-manufacturer",
  "instance-gpu-memory",
  "instance-gpu-name",
  "instance-hypervisor",
  "instance-local-nvme",
  "instance-memory",
  "instance-network-bandwidth",
  "instance-size",
  "instance-tenancy",
  "nitro-sandbox",
  "placement-group-id",
  "placement-group-partition",
].map((name) => `${AWS_LABEL_DOMAIN}/${name}`);

const KUBERNETES_KEYS = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/os",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];

/** Which API version's restrictions on label keys apply. v1beta1 also forbids Kubernetes' own domains. */
export type Restrictions = "v1beta1" | "v1";

/**
 * CEL rules for one label key. `x`: the key's name in the expression. It is `self` for a single key, or a loop variable
 * for the keys of a map.
 */
function keyRules(
  x: string,
  restrictions: Restrictions,
  nodePoolKey: "allowed" | "restricted",
): readonly (readonly [string, string])[] {
  const domain = (name: string, allowed: readonly string[], below: readonly string[] = []) => {
    const pattern = `^([a-zA-Z0-9.-]+[.])?${name.replaceAll(".", "[.]")}/`;
    const subdomains = below.map(
      (one) => ` || ${x}.matches('^([a-zA-Z0-9.-]+[.])?${one.replaceAll(".", "[.]")}/')`,
    );
    const quoted = allowed.map((key) => `'${key}'`).join(",");
    const rule = `!${x}.matches('${pattern}') || ${x} in [${quoted}]${subdomains.join("")}`;
    return [rule, `label domain "${name}" is restricted`] as const;
  };
  const beta = [
    domain("kubernetes.io", KUBERNETES_KEYS, [
      "node.kubernetes.io",
      "node-restriction.kubernetes.io",
    ]),
    domain("k8s.io", [], ["kops.k8s.io"]),
  ];
  return [
    ...(restrictions === "v1beta1" ? beta : []),
    domain("karpenter.sh", ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"]),
    ...(nodePoolKey === "restricted"
      ? [
          [
            `${x} != 'karpenter.sh/nodepool'`,
            'label "karpenter.sh/nodepool" is restricted',
          ] as const,
        ]
      : []),
    [`${x} != 'kubernetes.io/hostname'`, 'label "kubernetes.io/hostname" is restricted'],
    domain(AWS_LABEL_DOMAIN, AWS_KEYS),
  ];
}

/** The schema of labels in a pool's template. */
export function templateLabels(restrictions: Restrictions): JsonSchema {
  const all = keyRules("k", restrictions, "restricted").map(
    ([rule, message]) => [`self.all(k, ${rule})`, message] as const,
  );
  return {
    description: "Labels of the nodes.",
    type: "object",
    additionalProperties: { type: "string", maxLength: 63, pattern: LABEL_VALUE },
    maxProperties: 100,
    // In v1, server-side apply treats the map as one value, so a client must send all of it.
    ...(restrictions === "v1" ? { "x-kubernetes-map-type": "atomic" as const } : {}),
    ...rules(...all),
  };
}

/** The schema of requirements in a v1beta1 or v1 pool or claim. */
export function requirements(
  restrictions: Restrictions,
  nodePoolKey: "allowed" | "restricted",
): JsonSchema {
  const bounds = restrictions === "v1" ? ["Gt", "Lt", "Gte", "Lte"] : ["Gt", "Lt"];
  const named = restrictions === "v1" ? "'Gt', 'Lt', 'Gte', or 'Lte'" : "'Gt' or 'Lt'";
  const quoted = bounds.map((one) => `'${one}'`).join(",");
  const item = object(
    "One constraint on one label.",
    {
      key: text("Label key.", {
        maxLength: 316,
        pattern: QUALIFIED_NAME,
        ...rules(...keyRules("self", restrictions, nodePoolKey)),
      }),
      operator: text("How the label relates to the values.", {
        enum: ["In", "NotIn", "Exists", "DoesNotExist", ...bounds],
      }),
      values: list(
        "Values of In and NotIn, or the one bound of a comparison.",
        { type: "string", maxLength: 63, pattern: LABEL_VALUE },
        { "x-kubernetes-list-type": "atomic" },
      ),
      minValues: integer("Least number of values that must stay possible.", {
        minimum: 1,
        maximum: 50,
      }),
    },
    { required: ["key", "operator"] },
  );
  return list("Constraints on the nodes, all of which hold.", item, {
    maxItems: 100,
    ...rules(
      [
        "self.all(x, x.operator != 'In' || (has(x.values) && x.values.size() > 0))",
        "requirements with operator 'In' must have a value defined",
      ],
      [
        `self.all(x, !(x.operator in [${quoted}]) || (has(x.values) && x.values.size() == 1 && x.values[0].matches('^[0-9]+$')))`,
        `requirements operator ${named} must have a single positive integer value`,
      ],
      [
        "self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && x.values.size() >= x.minValues))",
        "requirements with 'minValues' must have at least that many values specified in the 'values' field",
      ],
    ),
  });
}

/** The schema of requirements in v1alpha5. The webhook checks their content. */
export function looseRequirements(): JsonSchema {
  return list(
    "Constraints on the nodes, all of which hold.",
    object(
      "One constraint on one label.",
      {
        key: text("Label key."),
        operator: text("In, NotIn, Exists, DoesNotExist, Gt or Lt."),
        values: list("Values the operator needs.", { type: "string" }),
      },
      { required: ["key", "operator"] },
    ),
  );
}

/** The schema of taints. With `strict` the schema checks the content; in v1alpha5 the webhook does. */
export function taints(description: string, checks: "strict" | "webhook"): JsonSchema {
  const strict = checks === "strict";
  const item = object(
    "One taint.",
    {
      key: text("Taint key.", strict ? { minLength: 1, pattern: QUALIFIED_NAME } : {}),
      value: text("Taint value.", strict ? { pattern: LABEL_VALUE } : {}),
      effect: text(
        "NoSchedule, PreferNoSchedule or NoExecute.",
        strict ? { enum: ["NoSchedule", "PreferNoSchedule", "NoExecute"] } : {},
      ),
      timeAdded: text("Accepted and not used.", { format: "date-time" }),
    },
    { required: ["effect", "key"] },
  );
  return list(description, item, strict ? { "x-kubernetes-list-type": "atomic" } : {});
}

/** The schema of v1's reference to a node class. `immutable`: only the class's name may change, as in pools. */
export function nodeClassRef(mutability: "immutable" | "free"): JsonSchema {
  const fixed = (field: string) =>
    mutability === "immutable"
      ? [["self == oldSelf", `nodeClassRef.${field} is immutable`] as const]
      : [];
  return object(
    "The class that says how nodes are made.",
    {
      group: text("API group of the class.", {
        pattern: "^[^/]*$",
        ...rules(["self != ''", "group may not be empty"], ...fixed("group")),
      }),
      kind: text("Kind of the class.", {
        ...rules(["self != ''", "kind may not be empty"], ...fixed("kind")),
      }),
      name: text("Name of the class.", rules(["self != ''", "name may not be empty"])),
    },
    { required: ["group", "kind", "name"] },
  );
}

/** The schema of the reference to a node class in v1beta1 and v1alpha5. */
export function looseClassRef(description: string): JsonSchema {
  return object(
    description,
    {
      apiVersion: text("Informational: group and version of the class."),
      kind: text("Informational: kind of the class."),
      name: text("Name of the class."),
    },
    { required: ["name"] },
  );
}

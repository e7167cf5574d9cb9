/** The CRD of NodePool: v1 (stored) and v1beta1 (served through conversion). */
import { NODE_POOL } from "../karpenter/nodepool.ts";
import {
  AGE_COLUMN,
  type CustomResourceDefinition,
  column,
  definition,
  type PrinterColumn,
  READY_COLUMN,
} from "./definition.ts";
import { kubeletSchema } from "./kubelet-schema.ts";
import {
  conditions,
  integer,
  type JsonSchema,
  kindSchema,
  list,
  object,
  quantityMap,
  rules,
  text,
  textMap,
} from "./schema.ts";
import {
  DURATION,
  looseClassRef,
  NILLABLE_DURATION,
  nodeClassRef,
  requirements,
  taints,
  templateLabels,
} from "./shared-schema.ts";

const SCHEDULE =
  "^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$";
const BUDGET_DURATION = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$";

/** The CRD of NodePool, in v1 (stored) and v1beta1. upstream: pkg/apis/crds/karpenter.sh_nodepools.yaml. */
export function nodePoolDefinition(): CustomResourceDefinition {
  return definition(NODE_POOL, [
    {
      name: "v1",
      storage: true,
      schema: kindSchema("A kind of nodes to make on demand.", v1Spec(), v1Status(), ["spec"]),
      columns: v1Columns(),
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.nodes" },
    },
    {
      name: "v1beta1",
      storage: false,
      schema: kindSchema("A kind of nodes to make on demand.", betaSpec(), betaStatus(), ["spec"]),
      columns: betaColumns(),
    },
  ]);
}

function v1Columns(): readonly PrinterColumn[] {
  return [
    column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
    column("Nodes", ".status.nodes"),
    READY_COLUMN,
    AGE_COLUMN,
    { name: "Weight", type: "integer", jsonPath: ".spec.weight", priority: 1 },
    column("CPU", ".status.resources.cpu", 1),
    column("Memory", ".status.resources.memory", 1),
  ];
}

function betaColumns(): readonly PrinterColumn[] {
  return [
    column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
    { name: "Weight", type: "integer", jsonPath: ".spec.weight", priority: 1 },
  ];
}

function budgets(reasons: "with reasons" | "without reasons"): JsonSchema {
  const item = object(
    "One cap.",
    {
      nodes: text("A count, or a share of the pool's nodes.", {
        default: "10%",
        pattern: "^((100|[0-9]{1,2})%|[0-9]+)$",
      }),
      schedule: text("Cron start; absent: always.", { pattern: SCHEDULE }),
      timeZone: text("Time zone of the schedule, such as Europe/Zurich; absent: UTC.", {
        minLength: 1,
        maxLength: 64,
      }),
      duration: text("How long after its start it is active.", { pattern: BUDGET_DURATION }),
      ...(reasons === "with reasons"
        ? {
            reasons: list(
              "Reasons the cap is for; absent: all.",
              { type: "string", enum: ["Underutilized", "Empty", "Drifted", "Unhealthy"] },
              { maxItems: 50, "x-kubernetes-list-type": "set" },
            ),
          }
        : {}),
    },
    { required: ["nodes"] },
  );
  return list("Caps on nodes disrupted at one time; the least counts.", item, {
    default: [{ nodes: "10%" }],
    maxItems: 50,
    ...rules(
      ["self.all(x, has(x.schedule) == has(x.duration))", "'schedule' must be set with 'duration'"],
      [
        "self.all(x, !has(x.timeZone) || has(x.schedule))",
        "'timeZone' must be set with 'schedule'",
      ],
    ),
  });
}

const WEIGHT = { format: "int32", minimum: 1, maximum: 100 } as const;

function v1Spec(): JsonSchema {
  const disruption = object(
    "When nodes are taken out of service.",
    {
      budgets: budgets("with reasons"),
      consolidateAfter: text("Wait after the last pod event, or Never.", {
        default: "0s",
        pattern: NILLABLE_DURATION,
      }),
      consolidationPolicy: text("Which nodes are candidates.", {
        default: "WhenEmptyOrUnderutilized",
        enum: ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"],
      }),
    },
    { default: { consolidateAfter: "0s" } },
  );
  const template = object(
    "The claims of this pool.",
    {
      expireAfter: text("Lifetime of a node, or Never.", {
        default: "720h",
        pattern: NILLABLE_DURATION,
      }),
      nodeClassRef: nodeClassRef("immutable"),
      requirements: requirements("v1", "restricted"),
      startupTaints: taints("Taints that an agent on the node removes.", "strict"),
      taints: taints("Taints of the nodes.", "strict"),
      terminationGracePeriod: text("Longest time a drain may take.", { pattern: DURATION }),
    },
    { required: ["nodeClassRef", "requirements"] },
  );
  return object(
    "What is wanted.",
    {
      disruption,
      limits: quantityMap("Most resources the pool's nodes may have together."),
      replicas: integer("A fixed number of nodes, pods or not.", { format: "int64", minimum: 0 }),
      template: templateOf(template, templateLabels("v1")),
      weight: integer("Order among pools: greater first.", WEIGHT),
    },
    {
      required: ["template"],
      ...rules(
        [
          "has(self.replicas) == has(oldSelf.replicas)",
          "Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes",
        ],
        [
          "!has(self.replicas) || !has(self.limits) || self.limits.all(x, x == 'nodes')",
          "only 'limits.nodes' is supported on static NodePools",
        ],
        [
          "!has(self.replicas) || !has(self.weight)",
          "'weight' is not supported on static NodePools",
        ],
      ),
    },
  );
}

function templateOf(spec: JsonSchema, labels: JsonSchema): JsonSchema {
  const metadata = object("Labels and annotations of claims and nodes.", {
    annotations: textMap("Annotations of claims and nodes."),
    labels,
  });
  return object("Template of the claims.", { metadata, spec }, { required: ["spec"] });
}

function v1Status(): JsonSchema {
  return object("What is.", {
    conditions: conditions("strict"),
    nodeClassObservedGeneration: integer("Generation of the class last looked at.", {
      format: "int64",
    }),
    nodes: integer("Number of nodes.", { format: "int64", default: 0 }),
    resources: quantityMap("Resources of the pool's nodes together."),
  });
}

function betaSpec(): JsonSchema {
  const disruption = object(
    "When nodes are taken out of service.",
    {
      budgets: budgets("without reasons"),
      consolidateAfter: text("Wait after a node became empty, or Never.", {
        pattern: NILLABLE_DURATION,
      }),
      consolidationPolicy: text("Which nodes are candidates.", {
        default: "WhenUnderutilized",
        enum: ["WhenEmpty", "WhenUnderutilized"],
      }),
      expireAfter: text("Lifetime of a node, or Never.", {
        default: "720h",
        pattern: NILLABLE_DURATION,
      }),
    },
    {
      default: { consolidationPolicy: "WhenUnderutilized", expireAfter: "720h" },
      ...rules(
        [
          "!has(self.consolidateAfter) || self.consolidationPolicy != 'WhenUnderutilized' || self.consolidateAfter == 'Never'",
          "consolidateAfter cannot be combined with consolidationPolicy=WhenUnderutilized",
        ],
        [
          "self.consolidationPolicy != 'WhenEmpty' || has(self.consolidateAfter)",
          "consolidateAfter must be specified with consolidationPolicy=WhenEmpty",
        ],
      ),
    },
  );
  const template = object(
    "The claims of this pool.",
    {
      kubelet: kubeletSchema("cel"),
      nodeClassRef: looseClassRef("The class that says how nodes are made."),
      requirements: requirements("v1beta1", "restricted"),
      resources: object("Not to be set here.", {}, { maxProperties: 0 }),
      startupTaints: taints("Taints that an agent on the node removes.", "strict"),
      taints: taints("Taints of the nodes.", "strict"),
    },
    { required: ["nodeClassRef", "requirements"] },
  );
  return object(
    "What is wanted.",
    {
      disruption,
      limits: quantityMap("Most resources the pool's nodes may have together."),
      template: templateOf(template, templateLabels("v1beta1")),
      weight: integer("Order among pools: greater first.", WEIGHT),
    },
    { required: ["template"] },
  );
}

function betaStatus(): JsonSchema {
  return object("What is.", {
    conditions: conditions("lenient"),
    nodes: integer("Number of nodes.", { format: "int64" }),
    resources: quantityMap("Resources of the pool's nodes together."),
  });
}

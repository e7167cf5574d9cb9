/** The CRDs of claims: NodeClaim (v1 stored, v1beta1 served) and v1alpha5's Machine. */
import { MACHINE } from "../karpenter/machine.ts";
import { NODE_CLAIM } from "../karpenter/nodeclaim.ts";
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
  type JsonSchema,
  kindSchema,
  object,
  quantityMap,
  rules,
  text,
} from "./schema.ts";
import {
  DURATION,
  looseClassRef,
  looseRequirements,
  NILLABLE_DURATION,
  nodeClassRef,
  requirements,
  taints,
} from "./shared-schema.ts";

const TYPE = column("Type", ".metadata.labels.node\\.kubernetes\\.io/instance-type");
const ZONE = column("Zone", ".metadata.labels.topology\\.kubernetes\\.io/zone");
const NODE = column("Node", ".status.nodeName");

function capacity(priority?: number): PrinterColumn {
  return column("Capacity", ".metadata.labels.karpenter\\.sh/capacity-type", priority);
}

/** The CRD of NodeClaim, in v1 (stored) and v1beta1. */
export function nodeClaimDefinition(): CustomResourceDefinition {
  const wide = [
    column("NodePool", ".metadata.labels.karpenter\\.sh/nodepool", 1),
    column("NodeClass", ".spec.nodeClassRef.name", 1),
  ];
  return definition(NODE_CLAIM, [
    {
      name: "v1",
      storage: true,
      schema: kindSchema("One node, asked for and followed.", v1Spec(), status("lenient"), [
        "spec",
      ]),
      columns: [
        TYPE,
        capacity(),
        ZONE,
        NODE,
        READY_COLUMN,
        AGE_COLUMN,
        column("ImageID", ".status.imageID", 1),
        column("ID", ".status.providerID", 1),
        ...wide,
        column("Drifted", '.status.conditions[?(@.type=="Drifted")].status', 1),
      ],
    },
    {
      name: "v1beta1",
      storage: false,
      schema: kindSchema("One node, asked for and followed.", betaSpec(), status("lenient"), [
        "spec",
      ]),
      columns: [TYPE, ZONE, NODE, READY_COLUMN, AGE_COLUMN, capacity(1), ...wide],
    },
  ]);
}

/** The CRD of Machine, in v1alpha5. */
export function machineDefinition(): CustomResourceDefinition {
  const spec = object("What is wanted.", {
    kubelet: kubeletSchema("webhook"),
    machineTemplateRef: looseClassRef("The template that says how the machine is made."),
    requirements: looseRequirements(),
    ...common("webhook"),
  });
  return definition(MACHINE, [
    {
      name: "v1alpha5",
      storage: true,
      schema: kindSchema("One node, asked for and followed.", spec, status("alpha"), []),
      columns: [
        TYPE,
        ZONE,
        NODE,
        READY_COLUMN,
        AGE_COLUMN,
        capacity(1),
        column("Provisioner", ".metadata.labels.karpenter\\.sh/provisioner-name", 1),
        column("Template", ".spec.machineTemplateRef.name", 1),
      ],
    },
  ]);
}

function common(checks: "strict" | "webhook") {
  return {
    resources: object("What the node must offer.", {
      requests: quantityMap("Least resources of the node."),
    }),
    startupTaints: taints("Taints that an agent on the node removes.", checks),
    taints: taints("Taints of the node.", checks),
  };
}

function v1Spec(): JsonSchema {
  return object(
    "What is wanted.",
    {
      expireAfter: text("Lifetime of the node, or Never.", {
        default: "720h",
        pattern: NILLABLE_DURATION,
      }),
      nodeClassRef: nodeClassRef("free"),
      requirements: requirements("v1", "allowed"),
      terminationGracePeriod: text("Longest time a drain may take.", { pattern: DURATION }),
      ...common("strict"),
    },
    {
      required: ["nodeClassRef", "requirements"],
      ...rules(["self == oldSelf", "spec is immutable"]),
    },
  );
}

function betaSpec(): JsonSchema {
  return object(
    "What is wanted.",
    {
      kubelet: kubeletSchema("cel"),
      nodeClassRef: looseClassRef("The class that says how the node is made."),
      requirements: requirements("v1beta1", "allowed"),
      ...common("strict"),
    },
    { required: ["nodeClassRef", "requirements"] },
  );
}

function status(shape: "lenient" | "alpha"): JsonSchema {
  return object("What is.", {
    allocatable: quantityMap("What pods may use."),
    capacity: quantityMap("What the node has."),
    conditions: conditions(shape),
    imageID: text("Image the node was started from."),
    lastPodEventTime: text("When a pod last came or went.", { format: "date-time" }),
    nodeName: text("The Node it became."),
    providerID: text("The cloud's name for it."),
  });
}

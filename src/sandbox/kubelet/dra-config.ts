/**
 * The kind DRAConfig (test.karpenter.sh/v1alpha1): which devices a simulated driver has on which nodes. It is
 * the kind of upstream's dra-kwok-driver. A sandbox with `--dra` serves it.
 * upstream: dra-kwok-driver/pkg/apis/v1alpha1
 */
import type { NodeSelectorTerm } from "../../apis/core/pod.ts";
import {
  AGE_COLUMN,
  type CustomResourceDefinition,
  definition,
} from "../../apis/crds/definition.ts";
import { conditions, integer, kindSchema, list, object, text } from "../../apis/crds/schema.ts";
import type { Condition, Kind, KubeObject } from "../../apis/meta.ts";
import type { Device } from "../../apis/resource/kinds.ts";

/** Devices that exist on each node that matches one of the terms. */
export interface DraPool {
  readonly name: string;
  readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
  /** Each entry becomes a ResourceSlice on each of these nodes. */
  readonly resourceSlices: readonly { readonly devices: readonly Device[] }[];
}

export interface DraConfig extends KubeObject {
  readonly spec: { readonly driver: string; readonly pools: readonly DraPool[] };
  /** The status. Neither the sandbox nor upstream's driver writes it. */
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly nodeCount?: number;
    readonly resourceSliceCount?: number;
  };
}

export const DRA_CONFIG: Kind<DraConfig> = {
  group: "test.karpenter.sh",
  version: "v1alpha1",
  kind: "DRAConfig",
  plural: "draconfigs",
  namespaced: false,
};

const DNS_NAME = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/** Accepts any fields here. The API server checks those of a device in its ResourceSlice. */
const AS_IN_SLICES = { "x-kubernetes-preserve-unknown-fields": true } as const;

const COLUMNS = [
  { name: "Driver", type: "string", jsonPath: ".spec.driver" },
  { name: "Nodes", type: "integer", jsonPath: ".status.nodeCount" },
  { name: "ResourceSlices", type: "integer", jsonPath: ".status.resourceSliceCount" },
  {
    name: "Ready",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  },
  AGE_COLUMN,
] as const;

/** The CRD, with upstream's names, columns and limits. */
export function draConfigDefinition(): CustomResourceDefinition {
  const pool = object(
    "Devices of some nodes.",
    {
      name: text("Part of the names of the ResourceSlices.", {
        minLength: 1,
        maxLength: 63,
        pattern: DNS_LABEL,
      }),
      nodeSelectorTerms: list(
        "The nodes: those that one of the terms matches.",
        object("As in a Pod's node affinity.", {}, AS_IN_SLICES),
        { minItems: 1 },
      ),
      resourceSlices: list(
        "Each becomes one ResourceSlice on each of the nodes.",
        object(
          "A ResourceSlice.",
          {
            devices: list(
              "Its devices.",
              object(
                "As in a ResourceSlice.",
                { name: text("Name of the device.") },
                { required: ["name"], ...AS_IN_SLICES },
              ),
              { minItems: 1 },
            ),
          },
          { required: ["devices"] },
        ),
        { minItems: 1 },
      ),
    },
    { required: ["name", "nodeSelectorTerms", "resourceSlices"] },
  );
  const spec = object(
    "What the driver finds.",
    {
      driver: text("Name of the driver.", { pattern: DNS_NAME }),
      pools: list("Which devices are on which nodes.", pool, { minItems: 1 }),
    },
    { required: ["driver", "pools"] },
  );
  const status = object("What is.", {
    conditions: conditions("strict"),
    nodeCount: integer("Nodes with devices.", { format: "int32" }),
    resourceSliceCount: integer("ResourceSlices that are published.", { format: "int32" }),
  });
  return definition(
    DRA_CONFIG,
    [
      {
        name: "v1alpha1",
        storage: true,
        schema: kindSchema("Devices that a simulated driver publishes.", spec, status, ["spec"]),
        columns: COLUMNS,
      },
    ],
    { shortNames: ["draconfig"] },
  );
}

/**
 * Keeps the parts of an object that have the right types. Schemas normally guarantee types, but a stored object may
 * have bypassed them. Then its valid parts are used and the problems are reported. So code that decides can rely on
 * types, and one invalid object does not stop the work on all others.
 */
import { isObject } from "../../base/json.ts";

/** The allowed type of a stored object's field. */
export type Shape =
  | "text"
  | "number"
  | "boolean"
  /** A quantity such as `500m` or 2. */
  | "amount"
  | { readonly listOf: Shape }
  | { readonly mapOf: Shape }
  /** An object. Fields that are not listed here are not checked. */
  | { readonly fields: Readonly<Record<string, Shape>>; readonly required?: readonly string[] };

/** An object without the fields of a wrong type, and one problem for each such field. */
export interface Sound<T> {
  /** The object without these fields. It is the given object itself if no field had a wrong type. */
  readonly value: T;
  /** Messages such as `spec.template.spec.taints: is no list`. */
  readonly problems: readonly string[];
}

/** Removes parts of a wrong type. Required fields that are missing become empty. */
export function sound<T>(value: T, shape: Shape): Sound<T> {
  const problems: string[] = [];
  const result = mend(value, shape, "", problems);
  return { value: (result === undefined ? emptyOf(shape) : result) as T, problems };
}

/** The value, or the part of it with the right types. Undefined: no part has the right type. */
function mend(value: unknown, shape: Shape, path: string, problems: string[]): unknown {
  const refuse = (what: string): undefined => {
    problems.push(`${path}: is no ${what}`);
    return undefined;
  };
  if (shape === "text") return typeof value === "string" ? value : refuse("text");
  if (shape === "number") return typeof value === "number" ? value : refuse("number");
  if (shape === "boolean") return typeof value === "boolean" ? value : refuse("boolean");
  if (shape === "amount")
    return typeof value === "string" || typeof value === "number" ? value : refuse("quantity");
  if ("listOf" in shape) {
    if (!Array.isArray(value)) return refuse("list");
    const before = problems.length;
    const kept = value.filter((item, index) => {
      const count = problems.length;
      mend(item, shape.listOf, `${path}[${index}]`, problems);
      return problems.length === count;
    });
    return problems.length === before ? value : kept;
  }
  if (!isObject(value)) return refuse("object");
  return "mapOf" in shape
    ? mendMap(value, shape.mapOf, path, problems)
    : mendFields(value, shape, path, problems);
}

function mendMap(
  value: Readonly<Record<string, unknown>>,
  shape: Shape,
  path: string,
  problems: string[],
): unknown {
  const before = problems.length;
  const entries = Object.entries(value).filter(
    ([key, item]) => mend(item, shape, `${path}.${key}`, problems) !== undefined,
  );
  return problems.length === before ? value : Object.fromEntries(entries);
}

function mendFields(
  value: Readonly<Record<string, unknown>>,
  {
    fields,
    required = [],
  }: { fields: Readonly<Record<string, Shape>>; required?: readonly string[] },
  path: string,
  problems: string[],
): unknown {
  const before = problems.length;
  const result: Record<string, unknown> = { ...value };
  for (const [name, shape] of Object.entries(fields)) {
    const at = path === "" ? name : `${path}.${name}`;
    // Some writers use null for an absent field.
    const given = value[name] ?? undefined;
    if (given === undefined) {
      if (required.includes(name)) problems.push(`${at}: is missing`);
    } else {
      result[name] = mend(given, shape, at, problems);
    }
    result[name] ??= required.includes(name) ? emptyOf(shape) : undefined;
    if (result[name] === undefined) delete result[name];
  }
  return problems.length === before ? value : result;
}

function emptyOf(shape: Shape): unknown {
  if (shape === "text" || shape === "amount") return "";
  if (shape === "number") return 0;
  if (shape === "boolean") return false;
  if ("listOf" in shape) return [];
  if ("mapOf" in shape) return {};
  const { fields, required = [] } = shape;
  return Object.fromEntries(
    required.map((name) => [name, emptyOf(fields[name] ?? { mapOf: "text" })]),
  );
}

const TEXTS: Shape = { mapOf: "text" };
const TAINTS: Shape = {
  listOf: { fields: { key: "text", value: "text", effect: "text" }, required: ["key", "effect"] },
};
const REQUIREMENTS: Shape = {
  listOf: {
    fields: { key: "text", operator: "text", values: { listOf: "text" }, minValues: "number" },
    required: ["key", "operator"],
  },
};
const CLASS_REF: Shape = { fields: { group: "text", kind: "text", name: "text" } };

/** The types of a stored NodePool's fields. */
export const POOL_SHAPE: Shape = {
  fields: {
    spec: {
      fields: {
        template: {
          fields: {
            metadata: { fields: { labels: TEXTS, annotations: TEXTS } },
            spec: {
              fields: {
                taints: TAINTS,
                startupTaints: TAINTS,
                requirements: REQUIREMENTS,
                nodeClassRef: CLASS_REF,
                expireAfter: "text",
                terminationGracePeriod: "text",
              },
              required: ["nodeClassRef"],
            },
          },
          required: ["spec"],
        },
        disruption: {
          fields: {
            consolidationPolicy: "text",
            consolidateAfter: "text",
            budgets: {
              listOf: {
                fields: {
                  nodes: "text",
                  schedule: "text",
                  timeZone: "text",
                  duration: "text",
                  reasons: { listOf: "text" },
                },
                required: ["nodes"],
              },
            },
          },
        },
        limits: { mapOf: "amount" },
        weight: "number",
        replicas: "number",
      },
      required: ["template"],
    },
  },
  required: ["spec"],
};

/** The fields of a Provisioner that decisions read. */
export const PROVISIONER_SHAPE: Shape = {
  fields: {
    spec: {
      fields: {
        labels: TEXTS,
        annotations: TEXTS,
        taints: TAINTS,
        startupTaints: TAINTS,
        requirements: REQUIREMENTS,
        providerRef: { fields: { apiVersion: "text", kind: "text", name: "text" } },
        limits: { fields: { resources: { mapOf: "amount" } } },
        weight: "number",
        ttlSecondsAfterEmpty: "number",
        ttlSecondsUntilExpired: "number",
        consolidation: { fields: { enabled: "boolean" } },
      },
    },
  },
};

/** The types of a stored NodeClaim's fields. Claims that Karpenter creates have all required fields. */
export const CLAIM_SHAPE: Shape = {
  fields: {
    spec: {
      fields: {
        taints: TAINTS,
        startupTaints: TAINTS,
        requirements: REQUIREMENTS,
        nodeClassRef: CLASS_REF,
        resources: { fields: { requests: { mapOf: "amount" } } },
        expireAfter: "text",
        terminationGracePeriod: "text",
      },
      required: ["requirements", "nodeClassRef"],
    },
  },
  required: ["spec"],
};

/** The types of a stored NodeOverlay's fields. */
export const OVERLAY_SHAPE: Shape = {
  fields: {
    spec: {
      fields: {
        requirements: REQUIREMENTS,
        price: "text",
        priceAdjustment: "text",
        capacity: { mapOf: "amount" },
        weight: "number",
      },
      required: ["requirements"],
    },
  },
  required: ["spec"],
};

const OBJECT: Shape = { fields: {} };
const TERMS: Shape = {
  listOf: {
    fields: { tags: TEXTS, id: "text", name: "text", owner: "text", alias: "text" },
  },
};

/** The types of a stored EC2NodeClass's fields. */
export const CLASS_SHAPE: Shape = {
  fields: {
    spec: {
      fields: {
        role: "text",
        instanceProfile: "text",
        amiFamily: "text",
        amiSelectorTerms: TERMS,
        subnetSelectorTerms: TERMS,
        securityGroupSelectorTerms: TERMS,
        capacityReservationSelectorTerms: TERMS,
        blockDeviceMappings: {
          listOf: {
            fields: {
              deviceName: "text",
              rootVolume: "boolean",
              ebs: { fields: { volumeSize: "amount", volumeType: "text", kmsKeyID: "text" } },
            },
          },
        },
        tags: TEXTS,
        userData: "text",
        context: "text",
        detailedMonitoring: "boolean",
        associatePublicIPAddress: "boolean",
        instanceStorePolicy: "text",
        ipPrefixCount: "number",
        metadataOptions: OBJECT,
        placementGroupSelector: { fields: { id: "text", name: "text" } },
        networkInterfaces: { listOf: OBJECT },
        connectionTracking: OBJECT,
        cpuOptions: { fields: { coreCount: "number", threadsPerCore: "number" } },
        enclaveOptions: { fields: { enabled: "boolean" } },
        kubelet: OBJECT,
      },
    },
  },
  required: ["spec"],
};

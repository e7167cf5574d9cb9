/**
 * Completes v1 objects that were converted in files. No webhook converts them later, so values in conversion
 * annotations are moved to v1's fields, and defaults that differ in v1 are written out. Kubelet settings move from the
 * NodePool (v1beta1) to the EC2NodeClass (v1). Every lost setting gives a remark.
 */
import { deepEqual, isObject } from "../../base/json.ts";
import { ANNOTATION_UBUNTU_COMPATIBILITY } from "../aws/labels.ts";
import type { KubeletConfiguration } from "../karpenter/kubelet.ts";
import { KUBELET_COMPATIBILITY_ANNOTATION_KEY } from "../karpenter/labels.ts";
import type { NodePool } from "../karpenter/nodepool.ts";
import type { KubeObject } from "../meta.ts";
import { annotated } from "./annotations.ts";
import { PLACEHOLDER_AMI_ID } from "./aws-class.ts";
import { parseKubelet } from "./claim.ts";

interface ClassObject extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The default metadata options of v1beta1. The default of v1 has one hop. */
const BETA_METADATA_OPTIONS = {
  httpEndpoint: "enabled",
  httpProtocolIPv6: "disabled",
  httpPutResponseHopLimit: 2,
  httpTokens: "required",
};

/** Completes the objects. `given`: v1 objects that `convertObject` made from older ones. */
export function completedV1(given: readonly KubeObject[]): {
  readonly objects: readonly KubeObject[];
  readonly remarks: readonly string[];
} {
  const remarks: string[] = [];
  const objects = given.map((one) => (isClass(one) ? withBetaDefaults(one) : one));
  const classes = new Map(objects.filter(isClass).map((one) => [one.metadata.name, one]));
  const made: KubeObject[] = [];
  const pools = objects.filter(isPool);
  const moved = new Map<KubeObject, NodePool>();
  for (const pool of pools) {
    const kubelet = parseKubelet(
      pool.metadata.annotations?.[KUBELET_COMPATIBILITY_ANNOTATION_KEY],
    ) as KubeletConfiguration | undefined;
    const { name } = pool.spec.template.spec.nodeClassRef;
    if (kubelet === undefined || Object.keys(kubelet).length === 0) continue;
    const nodeClass = classes.get(name);
    if (nodeClass === undefined) {
      remarks.push(
        `NodePool ${pool.metadata.name}: its kubelet settings stay in the annotation ${KUBELET_COMPATIBILITY_ANNOTATION_KEY}; ` +
          `v1 has them in spec.kubelet of EC2NodeClass ${name}: convert both at once (-f), or copy them there`,
      );
      continue;
    }
    const others = pools.filter(
      (one) => one !== pool && one.spec.template.spec.nodeClassRef.name === name,
    );
    const own = others.some((one) => !deepEqual(kubeletOf(one), kubelet));
    const target = own ? `${name}-${pool.metadata.name}` : name;
    const changed = {
      ...nodeClass,
      metadata: { ...nodeClass.metadata, name: target },
      spec: { ...nodeClass.spec, kubelet },
    };
    if (own) {
      made.push(changed);
      remarks.push(
        `NodePool ${pool.metadata.name}: EC2NodeClass ${target} was made for its kubelet settings, as other NodePools of EC2NodeClass ${name} have others`,
      );
    } else classes.set(name, changed);
    moved.set(pool, withClass(pool, target));
  }
  const completed = objects.map((one) => {
    if (isClass(one)) return classes.get(one.metadata.name) ?? one;
    return moved.get(one) ?? one;
  });
  return { objects: [...completed, ...made], remarks: [...remarks, ...completed.flatMap(losses)] };
}

function isClass(object: KubeObject): object is ClassObject {
  return object.kind === "EC2NodeClass" && isObject((object as ClassObject).spec);
}

function isPool(object: KubeObject): object is NodePool {
  return object.kind === "NodePool" && isObject((object as NodePool).spec?.template?.spec);
}

function kubeletOf(pool: NodePool): unknown {
  return parseKubelet(pool.metadata.annotations?.[KUBELET_COMPATIBILITY_ANNOTATION_KEY]);
}

function withClass(pool: NodePool, name: string): NodePool {
  const { template } = pool.spec;
  const nodeClassRef = { ...template.spec.nodeClassRef, name };
  const spec = {
    ...pool.spec,
    template: { ...template, spec: { ...template.spec, nodeClassRef } },
  };
  return annotated({ ...pool, spec }, { [KUBELET_COMPATIBILITY_ANNOTATION_KEY]: undefined });
}

function withBetaDefaults(nodeClass: ClassObject): ClassObject {
  const given = nodeClass.spec["metadataOptions"];
  const metadataOptions = { ...BETA_METADATA_OPTIONS, ...(isObject(given) ? given : {}) };
  return { ...nodeClass, spec: { ...nodeClass.spec, metadataOptions } };
}

/** Settings of v1beta1 that v1 cannot express. */
function losses(object: KubeObject): readonly string[] {
  const { kind = "", metadata } = object;
  const { spec } = object as ClassObject;
  if (kind === "NodeClaim")
    return [
      `NodeClaim ${metadata.name}: spec.expireAfter is ${spec?.["expireAfter"] ?? "720h"}: in v1beta1 the NodePool had the lifetime; set that of the NodePool`,
    ];
  if (metadata.annotations?.[ANNOTATION_UBUNTU_COMPATIBILITY] === undefined) return [];
  const terms = spec?.["amiSelectorTerms"];
  const isPlaceholder = JSON.stringify(terms ?? []).includes(PLACEHOLDER_AMI_ID);
  return [
    `EC2NodeClass ${metadata.name}: v1 has no family Ubuntu: it is written as AL2 with an annotation${
      isPlaceholder
        ? `; put an Ubuntu image for ${PLACEHOLDER_AMI_ID} in spec.amiSelectorTerms`
        : ""
    }`,
  ];
}

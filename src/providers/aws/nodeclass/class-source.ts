/**
 * Finds the node class of a pool or claim: an EC2NodeClass, an AWSNodeTemplate, or the block inside a v1alpha5
 * Provisioner. Returns it in hub form, common to all generations. Reads only mirrors.
 */

import { AWS_NODE_TEMPLATE, type AWSNodeTemplate } from "../../../apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import { type AwsClass, toAwsClass } from "../../../apis/hub/aws-class.ts";
import type { Pool } from "../../../apis/hub/pool.ts";
import { PROVISIONER_NAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import type { NodeClassReference } from "../../../apis/karpenter/nodepool.ts";
import { PROVISIONER, type Provisioner } from "../../../apis/karpenter/provisioner.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import type { Mirrors } from "../../../kube/mirror/mirror.ts";

/** A class, with the parts of its status that launches need. */
export interface FoundClass {
  readonly native: KubeObject;
  readonly nodeClass: AwsClass;
  /** The instance profile its status names. */
  readonly statusProfile: string | undefined;
}

/** Finds the AWS settings of a pool or claim of any generation. */
export interface ClassSource {
  /** The class of a pool. Undefined: the class does not exist. */
  ofPool(pool: Pool): FoundClass | undefined;
  ofClaim(claim: NodeClaim): FoundClass | undefined;
}

/** A source that reads mirrors only. */
export function createClassSource(mirrors: Mirrors): ClassSource {
  const nodeClasses = mirrors.of(EC2_NODE_CLASS);
  const templates = mirrors.of(AWS_NODE_TEMPLATE);
  const provisioners = mirrors.of(PROVISIONER);

  function byRef(ref: NodeClassReference): FoundClass | undefined {
    const mirror = ref.kind === AWS_NODE_TEMPLATE.kind ? templates : nodeClasses;
    const native = mirror.get(ref.name);
    return native === undefined ? undefined : found(native);
  }

  function inline(name: string | undefined): FoundClass | undefined {
    const native = name === undefined ? undefined : provisioners.get(name);
    return native?.spec?.provider === undefined ? undefined : found(native);
  }

  return {
    ofPool: (pool) =>
      pool.inlineProvider === undefined ? byRef(pool.classRef) : inline(pool.name),
    ofClaim: (claim) => {
      const ref = claim.spec.nodeClassRef;
      return ref.name === ""
        ? inline(claim.metadata.labels?.[PROVISIONER_NAME_LABEL_KEY])
        : byRef(ref);
    },
  };
}

/** Objects are frozen, so each is converted once. */
const known = new WeakMap<KubeObject, FoundClass>();

function found(native: EC2NodeClass | AWSNodeTemplate | Provisioner): FoundClass {
  let result = known.get(native);
  if (result === undefined) {
    const status = native.status as { instanceProfile?: string } | undefined;
    result = { native, nodeClass: toAwsClass(native), statusProfile: status?.instanceProfile };
    known.set(native, result);
  }
  return result;
}

/** The class in hub form. It is computed once for each state of the stored object. */
export function nodeClassOf(native: EC2NodeClass | AWSNodeTemplate): AwsClass {
  return found(native).nodeClass;
}

/** `ec2nodeclasses.karpenter.k8s.aws "default" not found`, the API server's error text. */
export function notFoundText(ref: NodeClassReference): string {
  const kind = ref.kind === AWS_NODE_TEMPLATE.kind ? AWS_NODE_TEMPLATE : EC2_NODE_CLASS;
  return `${kind.plural}.${kind.group} "${ref.name}" not found`;
}

/**
 * Every CustomResourceDefinition of the product, in the order in which they are applied. `npm run generate` writes them
 * to deploy/crds; the sandbox installs the same objects.
 */
import { capacityBufferDefinition } from "./capacity-buffers.ts";
import { machineDefinition, nodeClaimDefinition } from "./claims.ts";
import type { CustomResourceDefinition } from "./definition.ts";
import { ec2NodeClassDefinition } from "./ec2nodeclasses.ts";
import { nodeOverlayDefinition } from "./node-overlays.ts";
import { awsNodeTemplateDefinition, kwokNodeClassDefinition } from "./node-templates.ts";
import { nodePoolDefinition } from "./nodepools.ts";
import { provisionerDefinition } from "./provisioners.ts";

/** Every CRD of Karpenter, in the order in which `deploy/crds` and the sandbox install them. */
export function customResourceDefinitions(): readonly CustomResourceDefinition[] {
  return [
    provisionerDefinition(),
    machineDefinition(),
    awsNodeTemplateDefinition(),
    nodePoolDefinition(),
    nodeClaimDefinition(),
    nodeOverlayDefinition(),
    capacityBufferDefinition(),
    ec2NodeClassDefinition(),
    kwokNodeClassDefinition(),
  ];
}

/** The name of the CRD's file, such as `karpenter.sh_nodepools.yaml`. */
export function fileNameOf(crd: CustomResourceDefinition): string {
  return `${crd.spec.group}_${String(crd.spec.names["plural"])}.yaml`;
}

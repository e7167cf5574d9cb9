/** Checks the types of v1alpha5 objects by kind, not by apiVersion, with the AWS block of a Provisioner. */
import { isObject } from "../../base/json.ts";
import { AWS_NODE_TEMPLATE } from "../aws/awsnodetemplate.ts";
import { typeProblem } from "../crds/type-problem.ts";
import { PROVISIONER } from "../karpenter/provisioner.ts";
import { apiVersionOf, type KubeObject } from "../meta.ts";

/** The first field of a wrong type, in words; undefined where there is none, and for every other kind. */
export function alphaTypeProblem(object: KubeObject): string | undefined {
  if (object.kind === AWS_NODE_TEMPLATE.kind)
    return typeProblem(object, apiVersionOf(AWS_NODE_TEMPLATE));
  if (object.kind !== PROVISIONER.kind) return undefined;
  return typeProblem(object, apiVersionOf(PROVISIONER)) ?? blockProblem(object);
}

/** The schema of a Provisioner says nothing of the block in it, which is that of an AWSNodeTemplate. */
function blockProblem({ spec }: KubeObject & { readonly spec?: unknown }): string | undefined {
  const provider = isObject(spec) ? spec["provider"] : undefined;
  if (!isObject(provider)) return undefined;
  const { kind } = AWS_NODE_TEMPLATE;
  const template = { kind, metadata: {}, spec: provider };
  return typeProblem(template, apiVersionOf(AWS_NODE_TEMPLATE))?.replace(
    /^spec\b/,
    "spec.provider",
  );
}

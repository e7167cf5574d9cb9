/**
 * Checks the types in v1alpha5 objects, including the AWS fields of a Provisioner. The kind selects the schema,
 * whatever the apiVersion is.
 */
import { isObject } from "../../base/json.ts";
import { AWS_NODE_TEMPLATE } from "../aws/awsnodetemplate.ts";
import { typeProblem } from "../crds/type-problem.ts";
import { PROVISIONER } from "../karpenter/provisioner.ts";
import { apiVersionOf, type KubeObject } from "../meta.ts";

/** A message about the first field of a wrong type. Undefined: there is none, or the object has another kind. */
export function alphaTypeProblem(object: KubeObject): string | undefined {
  if (object.kind === AWS_NODE_TEMPLATE.kind)
    return typeProblem(object, apiVersionOf(AWS_NODE_TEMPLATE));
  if (object.kind !== PROVISIONER.kind) return undefined;
  return typeProblem(object, apiVersionOf(PROVISIONER)) ?? blockProblem(object);
}

/**
 * Checks the AWS fields of a Provisioner with the schema of AWSNodeTemplate, because the Provisioner's own schema does
 * not describe them.
 */
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

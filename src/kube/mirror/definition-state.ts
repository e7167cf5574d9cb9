/** Whether a kind that is not served still exists. */
import {
  CUSTOM_RESOURCE_DEFINITION,
  definitionName,
  isCustom,
} from "../../apis/core/custom-resource-definition.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { KubeClient } from "../client/client.ts";
import { isNotFound } from "../errors.ts";

/**
 * Whether the kind's CustomResourceDefinition exists, found by a request. Built-in kinds have none: one that was listed
 * before still exists, and one that was never listed does not exist in this Kubernetes version.
 */
export async function definitionState<T extends KubeObject>(
  client: Pick<KubeClient, "get">,
  kind: Kind<T>,
  wasListed: boolean,
): Promise<"there" | "gone" | "unknown"> {
  if (!isCustom(kind)) return wasListed ? "there" : "gone";
  try {
    await client.get(CUSTOM_RESOURCE_DEFINITION, { name: definitionName(kind) });
    return "there";
  } catch (error) {
    return isNotFound(error) ? "gone" : "unknown";
  }
}

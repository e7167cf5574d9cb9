/**
 * The LimitRange kind: default requests and limits for the containers of a namespace. Admission writes them into pods.
 * So code that predicts a pod before it exists must apply them too.
 */
import type { Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { Container, PodSpec } from "./pod.ts";

/** Default requests and limits of the containers in a namespace, and bounds on them. */
export interface LimitRange extends KubeObject {
  readonly spec: {
    readonly limits: readonly {
      readonly type: string;
      /** Limits for containers that set none. `defaultRequest` has the requests for such containers. */
      readonly default?: ResourceAmounts;
      readonly defaultRequest?: ResourceAmounts;
      readonly [field: string]: unknown;
    }[];
  };
}

export const LIMIT_RANGE: Kind<LimitRange> = {
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges",
  namespaced: true,
};

/** The spec with the defaults that admission would add. `ranges`: the LimitRanges of the pod's namespace. */
export function withLimitRanges(spec: PodSpec, ranges: readonly LimitRange[]): PodSpec {
  const items = ranges.flatMap(({ spec: { limits } }) =>
    limits.filter(({ type }) => type === "Container"),
  );
  if (items.length === 0) return spec;
  const complete = (container: Container): Container => {
    let { limits = {}, requests = {} } = container.resources ?? {};
    // Admission copies a container's own limit to its request before it applies defaults.
    requests = { ...limits, ...requests };
    for (const item of items) {
      limits = { ...item.default, ...limits };
      requests = { ...(item.defaultRequest ?? item.default), ...requests };
    }
    return { ...container, resources: { ...container.resources, limits, requests } };
  };
  return {
    ...spec,
    containers: spec.containers.map(complete),
    ...(spec.initContainers === undefined
      ? {}
      : { initContainers: spec.initContainers.map(complete) }),
  };
}

/** Which resource names Kubernetes itself knows. upstream: pkg/apis/core/helper/helpers.go */
import { qualifiedNameProblems } from "../schema/metadata.ts";

const STANDARD: ReadonlySet<string> = new Set(
  (
    "cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory " +
    "limits.ephemeral-storage pods resourcequotas services replicationcontrollers secrets configmaps " +
    "persistentvolumeclaims storage requests.storage services.nodeports services.loadbalancers"
  ).split(" "),
);

/** True for resource names without a domain that Kubernetes defines. */
export function isStandardResource(name: string): boolean {
  return STANDARD.has(name) || /^(requests\.)?hugepages-/.test(name);
}

/** Problems of a container's resource name. Empty: valid. upstream: validateContainerResourceName */
export function resourceNameProblems(name: string): readonly string[] {
  const problems = qualifiedNameProblems(name);
  const isOwn = !name.includes("/");
  if (isOwn && problems.length === 0 && !isStandardResource(name))
    problems.push("must be a standard resource type or fully qualified");
  if (isOwn && !/^(cpu|memory|ephemeral-storage|hugepages-.*)$/.test(name))
    problems.push("must be a standard resource for containers");
  const isNative = isOwn || name.includes("kubernetes.io/");
  if (!isNative && (name.startsWith("requests.") || problems.length > 0))
    problems.push("doesn't follow extended resource name standard");
  return problems;
}

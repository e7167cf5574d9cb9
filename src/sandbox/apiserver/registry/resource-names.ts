/** Which resource names Kubernetes itself knows. upstream: pkg/apis/core/helper/helpers.go */

const STANDARD: ReadonlySet<string> = new Set(
  (
    "cpu memory ephemeral-storage requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory " +
    "limits.ephemeral-storage pods resourcequotas services replicationcontrollers secrets configmaps " +
    "persistentvolumeclaims storage requests.storage services.nodeports services.loadbalancers"
  ).split(" "),
);

/** A name without a domain that means something. */
export function isStandardResource(name: string): boolean {
  return STANDARD.has(name) || /^(requests\.)?hugepages-/.test(name);
}

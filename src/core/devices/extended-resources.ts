/**
 * Extended resources of DeviceClasses (KEP-5004): a pod requests a number of devices as a resource, and kube-scheduler
 * creates a ResourceClaim for it. A resource that a device plugin provides on a node or an instance type is ignored
 * here.
 */
import type { Pod } from "../../apis/core/pod.ts";
import type { DeviceClaim, DeviceClass } from "../../apis/resource/kinds.ts";
import { parseUnits } from "../../base/quantity.ts";

const IMPLICIT = "deviceclass.resource.kubernetes.io/";

export class ExtendedResources {
  /** Resource → the DeviceClass whose devices are allocated for it. */
  readonly #classes = new Map<string, string>();

  /** `isPlain`: whether a device plugin provides the resource, and not a DeviceClass. */
  constructor(classes: readonly DeviceClass[], isPlain: (resource: string) => boolean) {
    const byName = classes.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    for (const { metadata, spec } of byName) {
      const names = [`${IMPLICIT}${metadata.name}`, spec.extendedResourceName];
      for (const name of names)
        if (name !== undefined && !isPlain(name) && !this.#classes.has(name))
          this.#classes.set(name, metadata.name);
    }
  }

  /** Whether any resource belongs to a DeviceClass. */
  get isAny(): boolean {
    return this.#classes.size > 0;
  }

  isServed(resource: string): boolean {
    return this.#classes.has(resource);
  }

  /** The claim that kube-scheduler will create for the pod: one request for each container and resource. */
  claimOf({ spec: { containers, initContainers = [] } }: Pod): DeviceClaim | undefined {
    if (!this.isAny) return undefined;
    const requests = [...initContainers, ...containers].flatMap(({ resources }, at) =>
      Object.entries(resources?.requests ?? resources?.limits ?? {}).flatMap(
        ([name, amount], nth) => {
          const deviceClassName = this.#classes.get(name);
          const count = parseUnits(String(amount)) ?? 0;
          if (deviceClassName === undefined || count <= 0) return [];
          return [{ name: `container-${at}-request-${nth}`, exactly: { deviceClassName, count } }];
        },
      ),
    );
    return requests.length === 0 ? undefined : { requests };
  }
}

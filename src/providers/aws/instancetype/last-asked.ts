/** Caches what is computed from a request for the instance types of a class. Requests come often, and seldom change. */
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { KubeletConfiguration } from "../../../apis/karpenter/kubelet.ts";
import { haveSameItems } from "../../../base/same-items.ts";
import type { Ami } from "../ami/choose.ts";
import type { Subnet } from "../api/network.ts";
import type { FoundPlacementGroup } from "../placementgroup/placement-groups.ts";
import type { Reservation } from "../reservation/reservations.ts";

/** The part of a class's selections on which its instance types depend. */
export interface Selected {
  readonly subnets: readonly Subnet[];
  readonly amis: readonly Ami[];
  readonly reservations: readonly Reservation[];
  readonly placementGroup: FoundPlacementGroup | undefined;
}

/** A request for the instance types of a class. */
export interface TypesRequest {
  readonly nodeClass: AwsClass;
  readonly kubelet: KubeletConfiguration | undefined;
  readonly selected: Selected;
}

/** Remembers the last request for each class. All parts of a request are immutable, so equal parts are the same. */
export class LastAsked<T> {
  readonly #last = new WeakMap<AwsClass, { readonly request: TypesRequest; readonly made: T }>();

  /** What `make` returned for the same request, if it was the last one for this class. */
  get(request: TypesRequest, make: () => T): T {
    const last = this.#last.get(request.nodeClass);
    if (last !== undefined && isSame(last.request, request)) return last.made;
    const made = make();
    this.#last.set(request.nodeClass, { request, made });
    return made;
  }
}

function isSame({ kubelet, selected: a }: TypesRequest, now: TypesRequest): boolean {
  const b = now.selected;
  return (
    kubelet === now.kubelet &&
    haveSameItems(a.subnets, b.subnets) &&
    haveSameItems(a.amis, b.amis) &&
    haveSameItems(a.reservations, b.reservations) &&
    a.placementGroup === b.placementGroup
  );
}

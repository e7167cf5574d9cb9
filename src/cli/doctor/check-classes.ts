/** Checks of EC2NodeClasses: an image for each architecture, and free addresses in the subnets. */
import type { EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import { ARCH_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodePool, RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { counted } from "../../base/counted.ts";
import type { CheckedItem } from "../checks/checks.ts";
import type { DoctorFacts } from "./facts.ts";

const ARCHITECTURES = ["amd64", "arm64"] as const;
/**
 * Fewer free addresses than this are reported. A node needs one for itself and, with the VPC CNI, one for each pod.
 */
const FEW_ADDRESSES = 16;

/**
 * Checks the images of all classes for the pools that use them. A class without a status is skipped here: no controller
 * has read it, and another check reports its readiness.
 */
export function checkImages({ classes, pools }: DoctorFacts): readonly CheckedItem[] {
  return (classes as readonly EC2NodeClass[]).flatMap((one) =>
    imagesOf(one, pools as readonly NodePool[]),
  );
}

/** Checks the subnets of all classes that have a status. */
export function checkAddresses({ classes, subnets }: DoctorFacts): readonly CheckedItem[] {
  return (classes as readonly EC2NodeClass[]).flatMap((one) => addressesOf(one, subnets));
}

function imagesOf(
  { kind, metadata: { name }, status }: EC2NodeClass,
  pools: readonly NodePool[],
): readonly CheckedItem[] {
  const images = status?.amis;
  if (images === undefined) return [];
  const at = { area: "images", item: name } as const;
  const describe = `kubectl describe ${kind?.toLowerCase()} ${name}`;
  if (images.length === 0)
    return [
      {
        ...at,
        state: "todo",
        says: "No AMI matches spec.amiSelectorTerms",
        remedy: `choose terms that match an AMI of this region: ${describe}`,
      },
    ];
  const served = ARCHITECTURES.filter((arch) =>
    images.some(({ requirements }) => allows(requirements, arch)),
  );
  const users = pools.filter(({ spec }) => spec?.template?.spec?.nodeClassRef?.name === name);
  const missing = ARCHITECTURES.filter((arch) => !served.includes(arch));
  // Pools for which no allowed architecture has an image, so they can launch nothing.
  const idle = users.filter(
    ({ spec }) => !served.some((arch) => allows(spec.template.spec.requirements ?? [], arch)),
  );
  if (idle.length > 0)
    return idle.map(({ metadata, spec }) => {
      const requirements = spec.template.spec.requirements ?? [];
      const wanted = missing.filter((arch) => allows(requirements, arch)).join(", ");
      const why =
        wanted === ""
          ? {
              says: `the NodePool's requirements on ${ARCH_LABEL_KEY} allow none of ${ARCHITECTURES.join(", ")}`,
              remedy: `change the requirements on ${ARCH_LABEL_KEY} in the NodePool: no AMI can meet them`,
            }
          : {
              says: `AMIs for ${served.join(", ")} only, and the NodePool wants ${wanted}`,
              remedy: `add an AMI for ${wanted} to spec.amiSelectorTerms of ${name}, or change ${ARCH_LABEL_KEY} in the NodePool`,
            };
      return { ...at, item: `${name} for NodePool ${metadata.name}`, state: "todo", ...why };
    });
  const old = images.filter(({ deprecated }) => deprecated === true);
  const found = `${counted(images.length, "AMI")} for ${served.join(", ")}`;
  if (old.length > 0)
    return [
      {
        ...at,
        state: "differs",
        says: `${found}; deprecated: ${old.map(({ id }) => id).join(", ")}`,
        remedy: "choose newer AMIs before EC2 disables these",
      },
    ];
  const wanted = missing.filter((arch) =>
    users.some(({ spec }) => allows(spec.template.spec.requirements ?? [], arch)),
  );
  return wanted.length === 0
    ? [{ ...at, state: "ready", says: found }]
    : [{ ...at, state: "differs", says: `${found}; nothing of ${wanted.join(", ")} is launched` }];
}

/** Whether the requirements allow this architecture. */
function allows(requirements: readonly RequirementSpec[], arch: string): boolean {
  return requirements
    .filter(({ key }) => key === ARCH_LABEL_KEY)
    .every(({ operator, values = [] }) => {
      if (operator === "In") return values.includes(arch);
      if (operator === "NotIn") return !values.includes(arch);
      return operator !== "DoesNotExist";
    });
}

function addressesOf(
  { metadata: { name }, status }: EC2NodeClass & KubeObject,
  subnets: DoctorFacts["subnets"],
): readonly CheckedItem[] {
  const own = status?.subnets;
  if (own === undefined || subnets === undefined) return [];
  const free = new Map(subnets.map((one) => [one.id, one.free]));
  const area = "subnets";
  return own.map(({ id, zone }): CheckedItem => {
    const item = `${name}: ${id} in ${zone}`;
    const left = free.get(id);
    if (left === undefined)
      return {
        area,
        item,
        state: "todo",
        says: "EC2 does not know it any more",
        remedy: `change spec.subnetSelectorTerms of ${name}, or wait until the controller looks again`,
      };
    const says = counted(left, "free address", "free addresses");
    const remedy = "add a larger subnet of this zone to the selector, or free addresses in it";
    if (left === 0) return { area, item, state: "todo", says, remedy };
    if (left < FEW_ADDRESSES) return { area, item, state: "differs", says, remedy };
    return { area, item, state: "ready", says };
  });
}

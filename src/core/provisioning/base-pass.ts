/** The scheduling state from which all plans of a batch start, with no pod placed yet. */
import type { Pod } from "../../apis/core/pod.ts";
import { WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import { atOnce } from "../../base/steps.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import { someAreAvoided } from "../scheduling/taints.ts";
import type { VolumeIndex } from "../scheduling/volumes.ts";
import { Recommendations } from "../state/recommendations.ts";
import { defaultPooler } from "./batch/default-pool.ts";
import { defaultSpreader } from "./batch/default-spread.ts";
import { plannedDaemons } from "./batch/eligibility.ts";
import { PodClasses } from "./batch/pod-class.ts";
import { Forks } from "./fork.ts";
import { DeviceAccess } from "./nodes/device-access.ts";
import type { ExistingNode } from "./nodes/existing-node.ts";
import { OpenClaims } from "./nodes/open-claims.ts";
import { Reservations } from "./nodes/reservations.ts";
import type { Pass } from "./place.ts";
import { seenSlots } from "./pools/attach-slots.ts";
import { createTemplate } from "./pools/pool-template.ts";
import { highestFirst } from "./pools/rank.ts";
import type { SchedulingInput } from "./scheduling-input.ts";
import { Topology } from "./topology/topology.ts";

/** A pass in which no pod is placed. Plans work on its forks: changes that are undone after each plan. */
export type BasePass = Pass & { readonly classes: PodClasses; readonly forks: Forks };

/** The scheduling state before any pod is placed. `idle`: there are no pods to place, so pools are not prepared. */
export function createPass(
  input: SchedulingInput,
  volumes: VolumeIndex,
  { idle, nodes }: { readonly idle: boolean; readonly nodes: readonly ExistingNode[] },
): BasePass {
  const { options } = input;
  const daemonPods = plannedDaemons(input);
  const space = new RequirementSpace(new Set([...WELL_KNOWN_LABELS, ...options.wellKnownLabels]));
  const seen = atOnce(seenSlots(input.nodes, volumes));
  const templates = idle
    ? []
    : input.pools
        .toSorted((a, b) => highestFirst(a.pool, b.pool))
        .map((pool, index) => createTemplate(pool, index, space, daemonPods, seen));
  const topology = new Topology(space, templates, input.namespaces);
  const canTolerate = someAreAvoided(templates) || someAreAvoided(input.nodes);
  const { minValuesPolicy } = options;
  const reserved = templates.filter(({ table }) => table.offerings.hasReserved);
  const [inPool, spread] = [defaultPooler(input.namespaces), defaultSpreader(input.defaultSpread)];
  const recommendations = new Recommendations(input.autoscalers ?? []);
  const complete = (pod: Pod) => spread(inPool(recommendations.successor(pod)));
  const { devices: facts } = input;
  const devices = facts && new DeviceAccess({ ...input, devices: facts }, space);
  const context = {
    space,
    topology,
    minValuesPolicy,
    volumes,
    reservations: new Reservations(reserved.flatMap(({ table }) => table.types)),
    chargesMost: false,
    strictReservations: options.reservedCapacity === "strict",
    devices,
    withoutPools: input.withoutPools,
  };
  if (devices?.isClaimed === true)
    for (const node of nodes) for (const pod of node.view.pods) devices.hold(node, pod);
  return {
    context,
    templates,
    nodes,
    classes: new PodClasses({
      space,
      topology,
      volumes,
      settings: options,
      canTolerate,
      complete,
      devices,
    }),
    claims: new OpenClaims(),
    forks: new Forks(topology, devices),
  };
}

/** Gives a random scenario each of its pending pods twelve times, so that its batch is large enough to be packed. */
import type { Scenario } from "../validator/validate.ts";

const COPIES = 12;

type Manifest = Scenario["manifests"][number];

/** The scenario with twelve copies of each pod that is bound to no node. */
export function withCopies(scenario: Scenario): Scenario {
  const manifests = scenario.manifests.flatMap((one) =>
    isWaitingPod(one) ? copiesOf(one) : [one],
  );
  return { ...scenario, manifests };
}

function isWaitingPod({ kind, spec }: Manifest): boolean {
  return kind === "Pod" && spec?.nodeName === undefined;
}

function copiesOf(pod: Manifest): readonly Manifest[] {
  const { metadata } = pod;
  return Array.from({ length: COPIES }, (_, copy) => ({
    ...pod,
    metadata: {
      ...metadata,
      name: `${metadata.name}-x${copy}`,
      uid: `${metadata.uid ?? metadata.name}-x${copy}`,
    },
  }));
}

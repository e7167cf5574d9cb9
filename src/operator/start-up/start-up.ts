/**
 * Watches what the operator needs to start: the kinds that it works on, and a first list of every kind that it reads.
 * As long as something is missing it is logged at once and every minute, and the operator is not ready. Missing kinds
 * of feature gates are logged, too, but the start does not wait for them.
 */
import { apiVersionOf, type Kind } from "../../apis/meta.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { Reminders } from "../../base/reminders.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotServed } from "../../kube/errors.ts";

/** Milliseconds until missing kinds are looked for again. */
const LOOK_AGAIN_MS = 10_000;
/**
 * Milliseconds to wait for the first lists without a log line. Lists of a large cluster take long, so only a longer
 * wait is logged.
 */
const FIRST_LISTS_MS = 15_000;

/** What the checks at the start need. */
export interface StartUpDeps {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Groups of the kinds that the operator works on, such as `karpenter.sh`. */
  readonly groups: readonly string[];
  /** The kinds of the feature gates that are on. */
  readonly gated?: readonly GatedKind[];
  /** Kinds whose first list is missing. */
  readonly unlisted: () => readonly string[];
  /** Resolves when every kind has been listed. */
  readonly listed: Promise<void>;
}

/** A kind that is used only with a feature gate. */
export interface GatedKind {
  readonly gate: string;
  readonly kind: Kind;
}

/** What prevents the controller from becoming ready. */
export interface StartUp {
  /** What is missing, as short phrases. */
  waitsFor(): readonly string[];
  stop(): void;
}

/** Starts the checks at once, in the background. */
export function watchStartUp(deps: StartUpDeps): StartUp {
  const { clock, log, unlisted } = deps;
  const reminders = new Reminders(clock);
  const missing = new Set<string>();
  let isListed = false;
  let stopped = false;
  let timer: Timer | undefined;
  let patience: Timer | undefined;

  async function look(): Promise<void> {
    for (const group of deps.groups) {
      if (await isInstalled(deps.client, `/apis/${group}`)) missing.delete(group);
      else missing.add(group);
    }
    const idle: GatedKind[] = [];
    for (const one of deps.gated ?? [])
      if (!(await isInstalled(deps.client, `/apis/${apiVersionOf(one.kind)}`))) idle.push(one);
    if (stopped || missing.size + idle.length === 0) return;
    for (const { gate, kind } of idle)
      if (reminders.isDue(`gate ${gate}`))
        log.error("a feature gate has no effect, its kind is not installed", {
          gate,
          kind: kind.kind,
          apiVersion: apiVersionOf(kind),
          remedy: "apply deploy/crds, or install the chart karpenter-crd; or switch the gate off",
        });
    if (missing.size > 0 && reminders.isDue("kinds"))
      log.error("the kinds of Karpenter are not installed, waiting for them", {
        groups: [...missing],
        remedy: "apply deploy/crds, or install the chart karpenter-crd",
      });
    timer = clock.after(LOOK_AGAIN_MS, begin);
  }

  function begin(): void {
    mustNotFail(look(), "looking for the kinds");
  }

  function sayUnlisted(): void {
    if (isListed || stopped) return;
    if (reminders.isDue("lists"))
      log.error("not ready, waiting for the first list of every kind", {
        kinds: unlisted().join(", "),
        remedy: "see the errors before this line; without one, the API server is slow",
      });
    patience = clock.after(FIRST_LISTS_MS, sayUnlisted);
  }

  begin();
  patience = clock.after(FIRST_LISTS_MS, sayUnlisted);
  const listed = deps.listed.then(() => {
    isListed = true;
    patience?.cancel();
  });
  mustNotFail(listed, "waiting for the first lists");
  return {
    waitsFor: () => [
      ...[...missing].map((group) => `the kinds of ${group}`),
      ...(isListed ? [] : [`the first list of ${unlisted().join(", ") || "every kind"}`]),
    ],
    stop: () => {
      stopped = true;
      timer?.cancel();
      patience?.cancel();
    },
  };
}

/**
 * Whether a group or version is installed. `path`: its path. Every authenticated user may read `/apis`. An unclear
 * answer counts as installed, because the watches of its kinds report problems.
 */
async function isInstalled(client: Pick<KubeClient, "raw">, path: string): Promise<boolean> {
  try {
    await client.raw({ method: "GET", path });
    return true;
  } catch (error) {
    return !isNotServed(error);
  }
}

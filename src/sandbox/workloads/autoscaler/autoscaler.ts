/**
 * The HorizontalPodAutoscaler controller. Every 15 s it reads the Scale of the target and the metrics of its
 * pods, computes a number of replicas, writes it, and reports in its status.
 * upstream: pkg/controller/podautoscaler/horizontal.go
 */
import {
  HORIZONTAL_POD_AUTOSCALER,
  type HorizontalPodAutoscaler,
  type Scale,
} from "../../../apis/autoscaling/kinds.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import type { EventRecorder } from "../../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";
import { answerOf } from "../controls.ts";
import { StatusDraft } from "./autoscaler-status.ts";
import { askMetrics } from "./metric-questions.ts";
import { createTargets, type ScaleTarget, type Targets } from "./scale-target.ts";
import { afterScaling, decideScale, firstMemory, type ScalingMemory } from "./scaling-rules.ts";

/** Time between two reconciles. upstream: --horizontal-pod-autoscaler-sync-period */
const SYNC_MS = 15_000;

/** Scales workloads by their autoscalers, every 15 s. upstream: pkg/controller/podautoscaler of Kubernetes. */
export function autoscalerController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const autoscalers = mirrors.of(HORIZONTAL_POD_AUTOSCALER);
  const recorder = createPartRecorder(deps, "horizontal-pod-autoscaler");
  const known = new Map<string, Known>();
  const parts: Parts = { ...deps, recorder, known, targets: createTargets(kube) };
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const key = `${namespace}/${name}`;
    const autoscaler = autoscalers.get(key);
    if (autoscaler === undefined) {
      known.delete(key);
      return AWAIT_CHANGE;
    }
    const now = clock.now();
    const kept = known.get(key) ?? { dueMs: now + SYNC_MS };
    known.set(key, kept);
    // A change of the autoscaler does not start an earlier run: as upstream, it runs once in 15 s.
    if (now < kept.dueMs) return requeueAfter(kept.dueMs - now);
    kept.dueMs = now + SYNC_MS;
    const status = new StatusDraft(autoscaler, now);
    await look(parts, autoscaler, status, kept);
    const after = { ...autoscaler, status: status.value };
    await patchObject(kube, HORIZONTAL_POD_AUTOSCALER, autoscaler, after);
    return requeueAfter(kept.dueMs - clock.now());
  }

  return {
    name: "horizontalpodautoscaler",
    watches: [source(HORIZONTAL_POD_AUTOSCALER)],
    concurrency: 5,
    reconcile,
  };
}

interface Parts extends PartDeps {
  readonly recorder: EventRecorder;
  readonly targets: Targets;
  /** State of each autoscaler, by key. */
  readonly known: ReadonlyMap<string, Known>;
}

/** State of an autoscaler between reconciles. */
export interface Known {
  dueMs: number;
  memory?: ScalingMemory;
  /** Selector of the target's pods, to find other autoscalers of the same pods. */
  selector?: string;
}

/** The wanted number of replicas, and the reason. */
interface Wanted {
  readonly replicas: number;
  readonly reason: string;
  readonly metrics: readonly unknown[];
}

/** One reconcile of an autoscaler: fills `status` and resizes the target. */
async function look(
  parts: Parts,
  autoscaler: HorizontalPodAutoscaler,
  status: StatusDraft,
  kept: Known,
): Promise<void> {
  const target = await readTarget(parts, autoscaler, status);
  if (target === undefined) return;
  const current = target.scale.spec?.replicas ?? 0;
  kept.memory ??= firstMemory(current, parts.clock.now());
  const { minReplicas: least = 1, maxReplicas: most } = autoscaler.spec;
  if (current === 0 && least !== 0) {
    const message = "scaling is disabled since the replica count of the target is zero";
    status.say("ScalingActive", "False", "ScalingDisabled", message);
    status.replicas(current, current, [], false);
    return;
  }
  const wanted =
    outOfBounds(current, least, most) ??
    (await byMetrics(parts, autoscaler, target.scale, status, kept));
  if (wanted === undefined) return;
  if (wanted.replicas === current) {
    status.replicas(current, current, wanted.metrics, false);
    return;
  }
  await resize(parts, { autoscaler, target, status, kept, current, wanted });
}

function outOfBounds(current: number, least: number, most: number): Wanted | undefined {
  if (current > most) {
    const reason = "Current number of replicas above Spec.MaxReplicas";
    return { replicas: most, reason, metrics: [] };
  }
  if (current >= least) return undefined;
  const reason = "Current number of replicas below Spec.MinReplicas";
  return { replicas: least, reason, metrics: [] };
}

async function readTarget(
  { recorder, targets }: Parts,
  autoscaler: HorizontalPodAutoscaler,
  status: StatusDraft,
): Promise<ScaleTarget | undefined> {
  try {
    const target = await targets.read(autoscaler);
    const message = "the HPA controller was able to get the target's current scale";
    status.say("AbleToScale", "True", "SucceededGetScale", message);
    return target;
  } catch (error) {
    const problem = answerOf(error);
    warn(recorder, autoscaler, "FailedGetScale", problem);
    const message = `the HPA controller was unable to get the target's current scale: ${problem}`;
    status.say("AbleToScale", "False", "FailedGetScale", message);
    return undefined;
  }
}

/** The replicas that the metrics ask for. Undefined if no metric can be read; then the status says why. */
async function byMetrics(
  parts: Parts,
  autoscaler: HorizontalPodAutoscaler,
  scale: Scale,
  status: StatusDraft,
  kept: Known,
): Promise<Wanted | undefined> {
  const { recorder, clock } = parts;
  const current = scale.spec?.replicas ?? 0;
  const { minReplicas: least = 1, maxReplicas: most, behavior } = autoscaler.spec;
  kept.selector = scale.status?.selector ?? "";
  const answer = await askMetrics(parts, autoscaler, scale, parts.known);
  for (const { reason, message } of answer.warnings) warn(recorder, autoscaler, reason, message);
  const { active, desired, metrics } = answer;
  status.say("ScalingActive", active.status, active.reason, active.message);
  if (desired === undefined) {
    status.replicas(current, status.value.desiredReplicas ?? 0, metrics, false);
    warn(recorder, autoscaler, "FailedComputeMetricsReplicas", answer.problem ?? "");
    return undefined;
  }
  const memory = kept.memory ?? firstMemory(current, clock.now());
  const wish = { current, desired: desired.replicas, least, most, nowMs: clock.now() };
  const decision = decideScale(wish, behavior, memory);
  kept.memory = decision.memory;
  const { ableToScale, limited } = decision;
  status.say("AbleToScale", "True", ableToScale.reason, ableToScale.message);
  status.say("ScalingLimited", limited.status, limited.reason, limited.message);
  const reason =
    desired.replicas > current
      ? `${desired.name} above target`
      : desired.replicas < current
        ? "All metrics below target"
        : "";
  return { replicas: decision.replicas, reason, metrics };
}

interface Resize {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly target: ScaleTarget;
  readonly status: StatusDraft;
  readonly kept: Known;
  readonly current: number;
  readonly wanted: Wanted;
}

async function resize(
  { recorder, targets, clock }: Parts,
  { autoscaler, target, status, kept, current, wanted }: Resize,
): Promise<void> {
  const { replicas, reason, metrics } = wanted;
  const size = `New size: ${replicas}; reason: ${reason}`;
  try {
    await targets.resize(target, replicas);
  } catch (error) {
    const problem = answerOf(error);
    warn(recorder, autoscaler, "FailedRescale", `${size}; error: ${problem}`);
    const message = `the HPA controller was unable to update the target scale: ${problem}`;
    status.say("AbleToScale", "False", "FailedUpdateScale", message);
    status.replicas(current, status.value.desiredReplicas ?? 0, metrics, false);
    return;
  }
  const message = `the HPA controller was able to update the target scale to ${replicas}`;
  status.say("AbleToScale", "True", "SucceededRescale", message);
  status.replicas(current, replicas, metrics, true);
  const object = subject(HORIZONTAL_POD_AUTOSCALER, autoscaler);
  recorder.publish({ object, type: "Normal", reason: "SuccessfulRescale", message: size });
  const { behavior } = autoscaler.spec;
  const change = { current, desired: replicas, nowMs: clock.now() };
  if (kept.memory !== undefined) kept.memory = afterScaling(kept.memory, behavior, change);
}

function warn(
  recorder: EventRecorder,
  autoscaler: HorizontalPodAutoscaler,
  reason: string,
  message: string,
): void {
  const object = subject(HORIZONTAL_POD_AUTOSCALER, autoscaler);
  recorder.publish({ object, type: "Warning", reason, message });
}

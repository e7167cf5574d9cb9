/**
 * Runs a scenario on virtual time: it applies objects, waits, and checks expectations. Hours pass in seconds,
 * because the clock jumps to the next event.
 */

import { NODE } from "../../apis/core/node.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { VirtualClock } from "../../base/virtual-clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/errors.ts";
import type { Trace } from "../trace.ts";
import { broken, describePromise } from "./promise-check.ts";
import { discoverResources, type ScenarioResources } from "./resources.ts";
import type { CloudFault, Promised, Scenario, Step, StepTarget } from "./scenario.ts";

/** How often a waiting step checks, in virtual time. */
const LOOK_EVERY_MS = 500;

/** The cluster and clock for a scenario. */
export interface ScenarioDeps {
  /** `fired`: if present, a waiting step checks again only after it has changed. */
  readonly clock: Pick<VirtualClock, "now" | "advance" | "settle"> &
    Partial<Pick<VirtualClock, "fired">>;
  readonly client: KubeClient;
  readonly trace: Trace;
  /** Loads the objects of a file that the scenario names. */
  readonly load: (file: string) => readonly KubeObject[];
  readonly fault: (fault: CloudFault) => void;
}

/** Number of expectations that held, and a sentence for each that did not. */
export interface ScenarioResult {
  readonly kept: number;
  /** One sentence for each expectation that did not hold. The scenario stops at the first such step. */
  readonly broken: readonly string[];
}

/**
 * Runs a scenario from start to end. It does not reject if an expectation fails or the API server refuses a
 * step.
 */
export async function runScenario(scenario: Scenario, deps: ScenarioDeps): Promise<ScenarioResult> {
  const resources = discoverResources(deps.client);
  let kept = 0;
  for (const [index, step] of scenario.steps.entries()) {
    const result = await play(step, deps, resources).catch(refused);
    if (result.broken.length > 0) {
      const at = `step ${index + 1} (${step.do})`;
      return { kept, broken: result.broken.map((sentence) => `${at}: ${sentence}`) };
    }
    kept += result.kept;
  }
  return { kept, broken: [] };
}

/** Ends the scenario, because the API server refused a step. */
function refused(error: unknown): ScenarioResult {
  if (!(error instanceof KubeError)) throw error;
  return { kept: 0, broken: [`refused: ${error.body?.message ?? error.message}`] };
}

async function play(
  step: Step,
  deps: ScenarioDeps,
  resources: ScenarioResources,
): Promise<ScenarioResult> {
  switch (step.do) {
    case "apply": {
      const loaded = step.files.flatMap((file) => deps.load(file));
      for (const object of [...loaded, ...step.objects]) await apply(object, deps, resources);
      return kept(0);
    }
    case "delete": {
      const { kind, ref } = await locate(step.target, resources);
      tell(deps, "deleted", step.target);
      const policy = step.propagationPolicy as "Background" | "Foreground" | "Orphan" | undefined;
      await deps.client.delete(kind, ref, { propagationPolicy: policy ?? "Background" });
      return kept(0);
    }
    case "scale": {
      const { kind, ref } = await locate(step.target, resources);
      tell(deps, "scaled", step.target, `to ${step.replicas}`);
      const body = { spec: { replicas: step.replicas } };
      await deps.client.patch(kind, ref, { type: "merge", body }, "scale");
      return kept(0);
    }
    case "patch": {
      const { kind, ref } = await locate(step.target, resources);
      tell(deps, "patched", step.target, JSON.stringify(step.merge));
      await deps.client.patch(kind, ref, { type: "merge", body: step.merge });
      return kept(0);
    }
    case "advance":
      await deps.clock.advance(step.ms);
      return kept(0);
    case "until":
      return waitUntil(step.promises, step.withinMs, deps, resources);
    case "expect":
      return check(step.promises, deps, resources);
    case "report":
      await report(step, deps);
      return kept(0);
    case "cloud":
      deps.trace({
        atMs: deps.clock.now(),
        actor: "user",
        verb: "faulted",
        object: "cloud",
        what: JSON.stringify(step.fault),
      });
      deps.fault(step.fault);
      return kept(0);
  }
}

async function report(
  { selector, count, condition }: Extract<Step, { do: "report" }>,
  deps: ScenarioDeps,
): Promise<void> {
  const { items } = await deps.client.list(NODE, { labelSelector: selector });
  const lastTransitionTime = toRfc3339(deps.clock.now());
  const chosen = items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const node of chosen.slice(0, count)) {
    const { name } = node.metadata;
    const others = (node.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
    const conditions = [...others, { ...condition, lastTransitionTime }];
    const body = { status: { conditions } };
    await deps.client.patch(NODE, { name }, { type: "merge", body }, "status");
    const { type, status, reason } = condition;
    deps.trace({
      atMs: deps.clock.now(),
      actor: "user",
      verb: "reported",
      object: `node ${name}`,
      what: `${type} is ${status}, ${reason}`,
    });
  }
}

async function apply(
  object: KubeObject,
  deps: ScenarioDeps,
  resources: ScenarioResources,
): Promise<void> {
  const kind = await resources.kind(object.apiVersion ?? "", object.kind ?? "");
  const namespace = kind.namespaced ? (object.metadata.namespace ?? "default") : undefined;
  tell(deps, "applied", { ...targetOf(kind, object.metadata.name), namespace });
  await deps.client.patch(
    kind,
    { name: object.metadata.name, namespace },
    { type: "apply", body: object, fieldManager: "kubectl", force: true },
  );
}

async function waitUntil(
  promises: readonly Promised[],
  withinMs: number,
  deps: ScenarioDeps,
  resources: ScenarioResources,
): Promise<ScenarioResult> {
  const deadlineMs = deps.clock.now() + withinMs;
  await deps.clock.settle();
  let result = await check(promises, deps, resources, false);
  while (result.broken.length > 0) {
    const leftMs = deadlineMs - deps.clock.now();
    if (leftMs <= 0) {
      return {
        kept: 0,
        broken: result.broken.map((sentence) => `after ${formatDuration(withinMs)}, ${sentence}`),
      };
    }
    const { fired } = deps.clock;
    await deps.clock.advance(Math.min(LOOK_EVERY_MS, leftMs));
    if (fired === undefined || fired !== deps.clock.fired)
      result = await check(promises, deps, resources, false);
  }
  return check(promises, deps, resources);
}

async function check(
  promises: readonly Promised[],
  deps: ScenarioDeps,
  resources: ScenarioResources,
  say = true,
): Promise<ScenarioResult> {
  const failures: string[] = [];
  for (const promise of promises) {
    const failure = await broken(promise, deps.client, resources);
    if (failure !== undefined) failures.push(failure);
    else if (say) {
      deps.trace({
        atMs: deps.clock.now(),
        actor: "story",
        verb: "kept",
        object: "promise",
        what: describePromise(promise),
      });
    }
  }
  return { kept: promises.length - failures.length, broken: failures };
}

async function locate(target: StepTarget, resources: ScenarioResources) {
  const kind = await resources.kind(target.apiVersion, target.kind);
  const namespace = kind.namespaced ? (target.namespace ?? "default") : undefined;
  return { kind, ref: { name: target.name, namespace } };
}

function targetOf(kind: Kind, name: string): StepTarget {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, name, namespace: undefined };
}

function tell(deps: ScenarioDeps, verb: string, target: StepTarget, what = ""): void {
  const name = target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`;
  deps.trace({
    atMs: deps.clock.now(),
    actor: "user",
    verb,
    object: `${target.kind.toLowerCase()} ${name}`,
    what,
  });
}

function kept(n: number): ScenarioResult {
  return { kept: n, broken: [] };
}

/**
 * The table row of a pod: how many containers are ready, and one word for its state. The word is chosen by
 * the same rules, in the same order, as in kubectl's output.
 * upstream: pkg/printers/internalversion/printers.go printPod
 */
import type { Raw } from "../registry/kind-rules.ts";
import { ageCell, sinceCell } from "./age.ts";
import { NONE } from "./cell.ts";

interface Summary {
  reason: string;
  ready: number;
  total: number;
  restarts: number;
  lastRestart: string | undefined;
}

/** The cells of a pod, in the order of its columns in data/kubernetes. */
export function podCells(pod: Raw, nowMs: number): readonly unknown[] {
  const { spec = {}, status = {}, metadata } = pod;
  const summary = summarize(pod);
  const { restarts, lastRestart } = summary;
  const restartCell =
    restarts > 0 && lastRestart !== undefined
      ? `${restarts} (${sinceCell(lastRestart, nowMs)} ago)`
      : String(restarts);
  const gates: Raw[] = spec.readinessGates ?? [];
  const passed = gates.filter((gate) => conditionStatus(pod, gate.conditionType) === "True").length;
  return [
    metadata.name,
    `${summary.ready}/${summary.total}`,
    summary.reason,
    restartCell,
    ageCell(pod, nowMs),
    status.podIPs?.[0]?.ip ?? status.podIP ?? NONE,
    spec.nodeName ?? NONE,
    status.nominatedNodeName ?? NONE,
    gates.length === 0 ? NONE : `${passed}/${gates.length}`,
  ];
}

function summarize(pod: Raw): Summary {
  const { spec = {}, status = {}, metadata } = pod;
  const summary: Summary = {
    reason: status.reason ?? status.phase ?? "Unknown",
    ready: 0,
    total: (spec.containers ?? []).length,
    restarts: 0,
    lastRestart: undefined,
  };
  const scheduled = (status.conditions ?? []).find(({ type }: Raw) => type === "PodScheduled");
  if (scheduled?.reason === "SchedulingGated") summary.reason = "SchedulingGated";
  const isSidecar = new Set<string>();
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy !== "Always") continue;
    isSidecar.add(container.name);
    summary.total++;
  }
  const initializing = readInit(pod, summary, isSidecar);
  if (!initializing || conditionStatus(pod, "Initialized") === "True") {
    readContainers(pod, summary);
  }
  if (metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") summary.reason = "Unknown";
    else if (status.phase !== "Failed" && status.phase !== "Succeeded") {
      summary.reason = "Terminating";
    }
  }
  return summary;
}

/** Reads the init containers. Returns true if one is not done; then the state word is about that container. */
function readInit(pod: Raw, summary: Summary, isSidecar: ReadonlySet<string>): boolean {
  const { spec = {}, status = {} } = pod;
  const statuses: Raw[] = status.initContainerStatuses ?? [];
  for (const [index, container] of statuses.entries()) {
    summary.restarts += container.restartCount ?? 0;
    noteRestart(summary, container);
    const { terminated, waiting } = container.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (isSidecar.has(container.name) && container.started === true) {
      if (container.ready === true) summary.ready++;
      continue;
    }
    if (terminated !== undefined) summary.reason = `Init:${terminatedReason(terminated)}`;
    else if ((waiting?.reason ?? "") !== "" && waiting.reason !== "PodInitializing") {
      summary.reason = `Init:${waiting.reason}`;
    } else summary.reason = `Init:${index}/${(spec.initContainers ?? []).length}`;
    return true;
  }
  return false;
}

function readContainers(pod: Raw, summary: Summary): void {
  const statuses: Raw[] = pod.status?.containerStatuses ?? [];
  let hasRunning = false;
  for (const container of [...statuses].reverse()) {
    summary.restarts += container.restartCount ?? 0;
    noteRestart(summary, container);
    const { waiting, terminated, running } = container.state ?? {};
    if ((waiting?.reason ?? "") !== "") summary.reason = waiting.reason;
    else if (terminated !== undefined) summary.reason = terminatedReason(terminated);
    else if (container.ready === true && running !== undefined) {
      hasRunning = true;
      summary.ready++;
    }
  }
  if (summary.reason === "Completed" && hasRunning) {
    summary.reason = conditionStatus(pod, "Ready") === "True" ? "Running" : "NotReady";
  }
}

function terminatedReason(terminated: Raw): string {
  if ((terminated.reason ?? "") !== "") return terminated.reason;
  return (terminated.signal ?? 0) !== 0
    ? `Signal:${terminated.signal}`
    : `ExitCode:${terminated.exitCode}`;
}

function noteRestart(summary: Summary, container: Raw): void {
  const finishedAt: string | undefined = container.lastState?.terminated?.finishedAt;
  if (finishedAt === undefined) return;
  if (summary.lastRestart === undefined || finishedAt > summary.lastRestart) {
    summary.lastRestart = finishedAt;
  }
}

function conditionStatus(pod: Raw, type: string): string | undefined {
  return (pod.status?.conditions ?? []).find((condition: Raw) => condition.type === type)?.status;
}

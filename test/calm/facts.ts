/**
 * Facts that the witness reads from claims, nodes and pods. It uses only the API's documented fields, as a person with
 * kubectl would.
 */
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import { toClaim } from "../../src/apis/hub/claim.ts";
import type { NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../src/apis/meta.ts";

const MINUTE = 60_000;
/** Milliseconds before Karpenter may repeat an event about a lasting state, such as a budget that allows nothing. */
const SAID_AGAIN_MS = MINUTE;

const translated = new WeakMap<KubeObject, NodeClaim>();

export function inHubWords(native: KubeObject): NodeClaim {
  const known = translated.get(native);
  if (known !== undefined) return known;
  const claim = toClaim(native);
  translated.set(native, claim);
  return claim;
}

export function reasonOf(claim: NodeClaim): string | undefined {
  const found = claim.status?.conditions?.find(({ type }) => type === "DisruptionReason");
  return found?.status === "True" ? found.reason : undefined;
}

export function isTrue({ status }: NodeClaim, type: string): boolean {
  return status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;
}

export function isInitialized(claim: NodeClaim): boolean {
  return isTrue(claim, "Initialized");
}

export function isLeaving({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether the node has a taint that keeps new pods away, in any generation of the API. */
export function isClosed({ spec }: Node): boolean {
  const keys = ["karpenter.sh/disrupted", "karpenter.sh/disruption"];
  const isTainted = spec?.taints?.some(
    ({ key, effect }) => keys.includes(key) && effect === "NoSchedule",
  );
  return spec?.unschedulable === true || isTainted === true;
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
}

/** Whether the pod must run elsewhere once its node is gone. */
export function isMoved({ metadata, status }: Pod): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind === "DaemonSet" || owner?.kind === "Node") return false;
  if (metadata.deletionTimestamp !== undefined) return false;
  return status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

export function cpusOf({ spec }: Pod): number {
  return spec.containers.reduce((sum, one) => sum + cpus(one.resources?.requests?.["cpu"]), 0);
}

/** Whether do-not-disrupt holds: `true`, or a duration such as `10m` since the pod's start. */
export function isHeld({ metadata, status }: Pod, nowMs: number): boolean {
  const text = metadata.annotations?.["karpenter.sh/do-not-disrupt"];
  if (text === undefined) return false;
  const phase = status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return false;
  if (text === "true") return true;
  const startMs = Date.parse(status?.startTime ?? "");
  return !(nowMs >= startMs + Number.parseInt(text, 10) * MINUTE);
}

export interface CommandFacts {
  readonly id?: string;
  readonly replacements?: number;
  readonly startedAt?: string;
}

export function commandOf(text: string | undefined): CommandFacts {
  return text === undefined ? {} : (JSON.parse(text) as CommandFacts);
}

/** Number or percentage of `of`. Kubernetes rounds percentages of budgets up. */
export function share(value: string | number, of: number): number {
  if (typeof value === "number") return value;
  return Math.ceil((of * Number.parseInt(value, 10)) / 100);
}

export function cpus(amount: unknown): number {
  const text = String(amount ?? "0");
  return text.endsWith("m") ? Number(text.slice(0, -1)) / 1_000 : Number(text);
}

/** A key for an event write: the name if an existing event is updated, otherwise its reason, object and message. */
export function eventOf(name: string, body: unknown): string {
  const { reason, message, involvedObject } = (body ?? {}) as {
    readonly reason?: string;
    readonly message?: string;
    readonly involvedObject?: { readonly name?: string };
  };
  return name === "" ? `${reason} of ${involvedObject?.name}: ${message}` : name;
}

/** The most frequent event, if it was sent more often than allowed in this time. */
export function tooOften(said: readonly string[], duringMs: number): string | undefined {
  const counts = new Map<string, number>();
  for (const text of said) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [text, times] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? ["", 0];
  if (times <= duringMs / SAID_AGAIN_MS + 1) return undefined;
  return `${times} times in ${duringMs / MINUTE} min: ${text}`;
}

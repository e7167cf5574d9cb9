/** The input of the page What if, and the console's answer. Both are kept while other pages are open. */
import { signal } from "@preact/signals";
import type { Editable, MapRow, Supposition } from "./wire.ts";

/** A supposition in which every field is set. */
export type Supposed = Required<Supposition>;

const NOTHING: Supposed = {
  nodes: [],
  zones: [],
  prices: [],
  scales: [],
  pools: "",
  consolidate: false,
};

export const supposed = signal<Supposed>(NOTHING);
/** The name of the NodePool in the editor; "": none. */
export const editedPool = signal("");
export const editable = signal<Editable | undefined>(undefined);

export interface Totals {
  readonly nodes: number;
  readonly pods: number;
  readonly pendingPods: number;
  readonly priceMicroUsdPerHour: number;
}

export interface Step {
  readonly at: string;
  readonly kind: "removal" | "provisioning" | "command";
  readonly says: string;
  readonly removed: readonly string[];
  readonly launched: readonly { readonly node: string }[];
  readonly moves: readonly {
    readonly pod: string;
    readonly from?: string;
    readonly to?: string;
  }[];
  readonly priceMicroUsdPerHour: number;
}

/** A CapacityBuffer: how many pods it asks room for, and how many of them have room on a node. */
export interface BufferRoom {
  readonly buffer: string;
  readonly pods: number;
  readonly placed: number;
}

/** The part of the answer that the page shows. All fields: docs/reference/simulate.md. */
export interface Simulated {
  readonly says: string;
  readonly from: string;
  readonly to: string;
  readonly before: Totals;
  readonly after: Totals;
  readonly steps: readonly Step[];
  readonly podsMoved: number;
  readonly savesMicroUsdPerHour: number;
  readonly unplaced: readonly { readonly pod: string; readonly reason: string }[];
  readonly headroom?: readonly BufferRoom[];
  readonly headroomBefore?: readonly BufferRoom[];
  readonly against: readonly { readonly node: string; readonly says: string }[];
  readonly ended?: string;
  readonly next: readonly { readonly says: string }[];
  readonly notes: readonly string[];
  readonly commandLine: string;
  readonly nodesBefore: Readonly<Record<string, MapRow>>;
  readonly nodesAfter: {
    readonly set: Readonly<Record<string, MapRow>>;
    readonly del: readonly string[];
  };
}

interface Problem {
  readonly problem: string;
}

export type Answered = Simulated | Problem;

export const answered = signal<Answered | "asked" | undefined>(undefined);

export function suppose(change: Partial<Supposed>): void {
  supposed.value = { ...supposed.value, ...change };
}

export function supposeNothing(): void {
  supposed.value = NOTHING;
  editedPool.value = "";
  answered.value = undefined;
}

export async function askWhatIf(): Promise<void> {
  answered.value = "asked";
  answered.value = await posted<Answered>("/api/simulate", supposed.value);
}

/** The errors that the API server would report for the text in the editor. */
export async function problemsOf(pools: string): Promise<readonly string[]> {
  const answer = await posted<{ readonly problems: readonly string[] }>("/api/pool-problems", {
    pools,
  });
  return "problem" in answer ? [answer.problem] : answer.problems;
}

export async function readEditable(): Promise<void> {
  const answer = await fetch("/api/editable").catch(() => undefined);
  if (answer?.ok === true) editable.value = (await answer.json()) as Editable;
}

async function posted<T>(path: string, body: object): Promise<T | Problem> {
  const headers = { "content-type": "application/json" };
  try {
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.headers.get("content-type")?.startsWith("application/json") === true)
      return (await answer.json()) as T;
    return { problem: (await answer.text()) || `the console answers ${answer.status}` };
  } catch {
    return { problem: "the console does not answer; try again" };
  }
}

/**
 * A trial on the scheduling state. Plans are compared, and what-if questions asked, on one state: each opens a fork,
 * changes the state, looks at it, and undoes every change, newest first. Forks nest: an inner fork is undone before the
 * outer one goes on.
 */
import { assert } from "../../base/assert.ts";
import type { ExistingNode, Saved } from "./nodes/existing-node.ts";
import type { Budget, Template } from "./pools/pool-template.ts";
import type { Topology } from "./topology/topology.ts";

/** A moment of a fork to go back to. */
export interface Moment {
  readonly placed: number;
  readonly gone: number;
  readonly counted: number;
}

/** What a fork changes beside nodes and counts. */
export interface ForkOptions {
  /** The templates whose limits it charges. */
  readonly templates: readonly Template[];
  /** As {@link Topology.begin}. An inner fork goes by the rules of the outer one. */
  readonly asUpstream?: boolean;
  /** Takes back what pods remember of their tries. */
  readonly forget: () => void;
}

/** The forks of one scheduling state, and who may open the next. */
export class Forks {
  readonly topology: Topology;
  /** Those that are open, the innermost last. */
  readonly #open: Fork[] = [];
  #opened = 0;

  constructor(topology: Topology) {
    this.topology = topology;
  }

  /** Opens a fork on the state as it is, inside the one that is open. */
  open(options: ForkOptions): Fork {
    const fork = new Fork(this, ++this.#opened, options);
    this.#open.push(fork);
    return fork;
  }

  /** As {@link open}, where no fork may be open: the answer must not depend on a trial that goes on. */
  openFirst(options: ForkOptions): Fork {
    assert(this.#open.length === 0, "a question is asked once the one before is done");
    return this.open(options);
  }

  isInnermost(fork: Fork): boolean {
    return this.#open.at(-1) === fork;
  }

  get isInner(): boolean {
    return this.#open.length > 0;
  }

  close(fork: Fork): void {
    assert(this.isInnermost(fork), "an inner fork is undone before the outer one");
    this.#open.pop();
  }
}

export class Fork {
  readonly #forks: Forks;
  /** No other fork of the state has it: nodes that got pods bear it. */
  readonly #number: number;
  readonly #templates: readonly Template[];
  readonly #budgets: readonly Budget[];
  readonly #forget: () => void;
  /** What nodes were like before each pod that they got. */
  readonly #placed: Saved[] = [];
  readonly #gone: ExistingNode[] = [];
  /** Counts that the outer fork had changed by then. */
  readonly #countedBefore: number;
  readonly #isInner: boolean;

  /** Use {@link Forks.open}. */
  constructor(
    forks: Forks,
    number: number,
    { templates, asUpstream = false, forget }: ForkOptions,
  ) {
    const { topology } = forks;
    this.#forks = forks;
    this.#number = number;
    this.#templates = templates;
    this.#budgets = templates.map(({ budget }) => budget);
    this.#forget = forget;
    this.#isInner = forks.isInner;
    this.#countedBefore = this.#isInner ? topology.changes : 0;
    if (!this.#isInner) topology.begin(asUpstream);
  }

  /** The moment that {@link backTo} returns to. */
  now(): Moment {
    return {
      placed: this.#placed.length,
      gone: this.#gone.length,
      counted: this.#forks.topology.changes,
    };
  }

  /** Undoes what came after the moment; limits stay charged. */
  backTo({ placed, gone, counted }: Moment): void {
    assert(this.#forks.isInnermost(this), "an inner fork is undone before the outer one is used");
    while (this.#placed.length > placed) {
      const before = this.#placed.pop() as Saved;
      before.node.restore(before);
    }
    while (this.#gone.length > gone) (this.#gone.pop() as ExistingNode).gone = false;
    this.#forks.topology.rollBack(counted);
    this.#forget();
  }

  /** Undoes everything. The fork is of no use any more. */
  undo(): void {
    this.backTo({ placed: 0, gone: 0, counted: this.#countedBefore });
    this.#templates.forEach((template, at) => {
      template.budget = this.#budgets[at] as Budget;
    });
    if (!this.#isInner) this.#forks.topology.end();
    this.#forks.close(this);
  }

  /** To be told before an existing node gets a pod. */
  touch(node: ExistingNode): void {
    this.#placed.push(node.save());
    node.trial = this.#number;
  }

  hasTouched(node: ExistingNode): boolean {
    return node.trial === this.#number;
  }

  /** The node takes no pods under this fork. */
  remove(node: ExistingNode): void {
    node.gone = true;
    this.#gone.push(node);
  }

  /** Nodes that got pods since the moment, by index, each as it was before; absent: since the fork was opened. */
  touched(since?: Pick<Moment, "placed">): readonly Saved[] {
    const first: Saved[] = [];
    for (let at = since?.placed ?? 0; at < this.#placed.length; at++) {
      const saved = this.#placed[at] as Saved;
      if (saved.trial !== this.#number) first.push(saved);
    }
    return first.length > 1 ? first.sort((a, b) => a.node.index - b.node.index) : first;
  }
}

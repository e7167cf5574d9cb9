/**
 * A fork is a set of changes to the scheduling state that can be undone. Alternative plans and what-if questions all
 * use one state. Each opens a fork, changes the state, reads the result, and undoes the changes. Forks nest: an inner
 * fork is undone before the outer one is used again.
 */
import { assert } from "../../base/assert.ts";
import type { DeviceAccess } from "./nodes/device-access.ts";
import type { ExistingNode, Saved } from "./nodes/existing-node.ts";
import type { LimitsLeft, Template } from "./pools/pool-template.ts";
import type { Topology } from "./topology/topology.ts";

/** A point in time of a fork, to return to by {@link Fork.backTo}. Each field is a number of changes until then. */
export interface Savepoint {
  readonly placed: number;
  readonly gone: number;
  readonly counted: number;
  readonly devices: number;
}

/** The options of a new fork. */
export interface ForkOptions {
  /** What NodePools say about their new nodes. The fork charges planned nodes against the limits of these NodePools. */
  readonly templates: readonly Template[];
  /** Whether topology domains are chosen as in upstream ({@link Topology.begin}). The outermost fork decides. */
  readonly asUpstream?: boolean;
  /** Called after changes were undone: clears which nodes refuse pod classes (pods that are equal for planning). */
  readonly forget: () => void;
}

/** The open forks of one scheduling state. */
export class Forks {
  readonly topology: Topology;
  readonly devices: DeviceAccess | undefined;
  /** The open forks. The innermost one is last. */
  readonly #open: Fork[] = [];
  #opened = 0;

  constructor(topology: Topology, devices: DeviceAccess | undefined) {
    this.topology = topology;
    this.devices = devices;
  }

  get deviceChanges(): number {
    return this.devices?.state.ledger.now() ?? 0;
  }

  /** Opens a fork inside the innermost open fork. */
  open(options: ForkOptions): Fork {
    const fork = new Fork(this, ++this.#opened, options);
    this.#open.push(fork);
    return fork;
  }

  /** Opens a fork for a question. No other fork may be open: the answer must not depend on an unfinished plan. */
  openOutermost(options: ForkOptions): Fork {
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
  /** The number of the fork. A node stores the number of the fork that last placed a pod on it. */
  readonly #number: number;
  readonly #templates: readonly Template[];
  readonly #limitsLeft: readonly LimitsLeft[];
  readonly #forget: () => void;
  /** For each pod that was placed: the state of its node before that. */
  readonly #placed: Saved[] = [];
  readonly #gone: ExistingNode[] = [];
  /** Number of topology changes when this fork was opened. */
  readonly #countedBefore: number;
  /** Number of changes to devices when this fork was opened. */
  readonly #devicesBefore: number;
  readonly #isInner: boolean;

  /** For {@link Forks} only. Other code opens a fork by {@link Forks.open}. */
  constructor(
    forks: Forks,
    number: number,
    { templates, asUpstream = false, forget }: ForkOptions,
  ) {
    const { topology } = forks;
    this.#forks = forks;
    this.#number = number;
    this.#templates = templates;
    this.#limitsLeft = templates.map(({ limitsLeft }) => limitsLeft);
    this.#forget = forget;
    this.#isInner = forks.isInner;
    this.#devicesBefore = forks.deviceChanges;
    this.#countedBefore = this.#isInner ? topology.changes : 0;
    if (!this.#isInner) topology.begin(asUpstream);
  }

  savepoint(): Savepoint {
    return {
      placed: this.#placed.length,
      gone: this.#gone.length,
      counted: this.#forks.topology.changes,
      devices: this.#forks.deviceChanges,
    };
  }

  /** Undoes the changes after this moment. Charges against limits are not undone. */
  backTo({ placed, gone, counted, devices }: Savepoint): void {
    assert(this.#forks.isInnermost(this), "an inner fork is undone before the outer one is used");
    while (this.#placed.length > placed) {
      const before = this.#placed.pop() as Saved;
      before.node.restore(before);
    }
    while (this.#gone.length > gone) (this.#gone.pop() as ExistingNode).gone = false;
    this.#forks.topology.rollBack(counted);
    this.#forks.devices?.state.ledger.backTo(devices);
    this.#forget();
  }

  /** Undoes all changes of the fork. The fork cannot be used again. */
  undo(): void {
    this.backTo({
      placed: 0,
      gone: 0,
      counted: this.#countedBefore,
      devices: this.#devicesBefore,
    });
    this.#templates.forEach((template, at) => {
      template.limitsLeft = this.#limitsLeft[at] as LimitsLeft;
    });
    if (!this.#isInner) this.#forks.topology.end();
    this.#forks.close(this);
  }

  /** Saves the node's state. Must be called before an existing node gets a pod. */
  touch(node: ExistingNode): void {
    this.#placed.push(node.save());
    node.lastFork = this.#number;
  }

  hasTouched(node: ExistingNode): boolean {
    return node.lastFork === this.#number;
  }

  /** Removes the node from planning: it takes no pods until the fork is undone. */
  remove(node: ExistingNode): void {
    node.gone = true;
    this.#gone.push(node);
  }

  /**
   * The existing nodes that got their first pod of this fork after `since`, by index, each with its state before that
   * pod. `since` absent: all nodes that got a pod in this fork.
   */
  touched(since?: Pick<Savepoint, "placed">): readonly Saved[] {
    const first: Saved[] = [];
    for (let at = since?.placed ?? 0; at < this.#placed.length; at++) {
      const saved = this.#placed[at] as Saved;
      if (saved.lastFork !== this.#number) first.push(saved);
    }
    return first.length > 1 ? first.sort((a, b) => a.node.index - b.node.index) : first;
  }
}

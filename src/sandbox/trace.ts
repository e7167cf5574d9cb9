/**
 * The trace: one line an event, in fixed columns, readable by a person and diffable by git: virtual
 * time, actor, verb, object, essence, why. Equal scenario and seed give equal bytes.
 */

export interface TraceEvent {
  readonly atMs: number;
  /** Who did it: `scheduler`, `kubelet`, `karpenter`, `ec2`, `user`. */
  readonly actor: string;
  /** What happened, past tense, one word: `pending`, `created`, `launched`, `ready`, `bound`. */
  readonly verb: string;
  /** `pod default/inflate-x`, `nodeclaim default-abcde`. */
  readonly object: string;
  /** The essence in a few words. */
  readonly what: string;
  /** Why, when it was a decision. */
  readonly why?: string;
}

export type Trace = (event: TraceEvent) => void;

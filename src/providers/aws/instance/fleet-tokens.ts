/**
 * The ClientToken of a launch: the same claims asking for the same get the instances of the first time, so
 * that a launch whose answer nobody heard (the process died, the connection broke) is not made twice. An
 * answer that was heard and brought a claim nothing ends its token: EC2 would only repeat that answer. After a
 * restart a claim may be in a batch with others; then launched-before.ts finds its instance.
 */
import { fnv64Text } from "../../../base/fnv.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { CreateFleetInput } from "../api/launches.ts";

/** The most claims with a failed launch that are remembered. The oldest are forgotten first. */
const REMEMBERED = 10_000;

/** Makes the ClientToken of a fleet call, so that a repeated call finds the instances of the first. */
export class FleetTokens {
  /** UID of a claim → answers heard that brought it nothing. */
  readonly #answered = new Map<string, number>();

  /** For one fleet for these claims, by UID, in any order; undefined when one of them has none. */
  of(input: CreateFleetInput, uids: readonly string[]): string | undefined {
    if (uids.some((uid) => uid === "")) return undefined;
    const asked = uids.map((uid) => `${uid}/${this.#answered.get(uid) ?? 0}`).sort();
    const claims = fnv64Text(asked.join()).toString(16).padStart(16, "0");
    const request = fnv64Text(canonicalJson(input)).toString(16).padStart(16, "0");
    return `karpenter-${claims}-${request}`;
  }

  heard(uid: string, gotInstance: boolean): void {
    const before = this.#answered.get(uid) ?? 0;
    this.#answered.delete(uid);
    if (gotInstance || uid === "") return;
    this.#answered.set(uid, before + 1);
    if (this.#answered.size > REMEMBERED)
      this.#answered.delete(this.#answered.keys().next().value as string);
  }
}

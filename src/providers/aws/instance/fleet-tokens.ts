/**
 * The ClientToken of a fleet call. Equal input for the same claims returns the instances of the first call. So a launch
 * whose answer was lost, with the process or the connection, is not made twice. After an answer without an instance for
 * a claim, its token changes, because EC2 would only repeat that answer. After a restart a claim may be in another
 * batch. Then launched-before.ts finds its instance.
 */
import { fnv64Text } from "../../../base/fnv.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { CreateFleetInput } from "../api/launches.ts";

/** Maximum number of claims with a failed launch that are remembered. The oldest is forgotten first. */
const REMEMBERED = 10_000;

/** Makes the ClientToken of a fleet call, so that a repeated call gets the instances of the first. */
export class FleetTokens {
  /** The number of answers without an instance, by UID of the claim. */
  readonly #answered = new Map<string, number>();

  /** The token of one fleet for these claims, by UID in any order. Undefined: a claim has no UID. */
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

/**
 * Finds claims of every generation by EC2 instance id. Messages name instances only by id, and when many arrive at
 * once, searching thousands of claims for each would be slow.
 */
import { CLAIM_KINDS } from "../../../apis/hub/claim.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import type { Mirrors } from "../../../kube/mirror/mirror.ts";
import { instanceIdOf } from "../instance/to-claim.ts";

/** Claims of every generation by instance id, updated from the mirrors. */
export class ClaimIndex {
  /** Instance id to claims, by kind and name. */
  readonly #byInstance = new Map<string, Map<string, KubeObject>>();

  /** `onGone` is called for each removed claim. */
  constructor(mirrors: Mirrors, onGone: (claim: KubeObject) => void) {
    for (const kind of CLAIM_KINDS) {
      mirrors.of(kind).on((event, claim, before) => {
        if (before !== undefined) this.#take(before);
        if (event === "removed") {
          this.#take(claim);
          onGone(claim);
        } else this.#put(claim);
      });
    }
  }

  /** The claims of the instance as stored, by kind and name. Normally there is one. */
  ofInstance(id: string): readonly KubeObject[] {
    const found = [...(this.#byInstance.get(id) ?? [])];
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, claim]) => claim);
  }

  #put(claim: KubeObject): void {
    const id = idOf(claim);
    if (id === undefined) return;
    const known = this.#byInstance.get(id);
    if (known === undefined) this.#byInstance.set(id, new Map([[keyOf(claim), claim]]));
    else known.set(keyOf(claim), claim);
  }

  #take(claim: KubeObject): void {
    const id = idOf(claim);
    const known = id === undefined ? undefined : this.#byInstance.get(id);
    if (id === undefined || known === undefined) return;
    known.delete(keyOf(claim));
    if (known.size === 0) this.#byInstance.delete(id);
  }
}

function idOf(claim: KubeObject): string | undefined {
  return instanceIdOf((claim as { status?: { providerID?: string } }).status?.providerID ?? "");
}

function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}

/**
 * Calls that are to happen once: a client that heard no answer asks again with the same token, gets the first answer,
 * and nothing is changed a second time.
 */

import { canonicalJson, isObject } from "../../../base/json.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";

/** A fleet's request is long; AWS forgets tokens too, after a day. */
const REMEMBERED = 1_000;

/** Remembers answers by ClientToken: an equal request gets the same answer, another one an error. */
export class ClientTokens {
  readonly #answered = new Map<string, { readonly request: string; readonly answer: unknown }>();

  /** What `make` gives, or gave when the token came first. Throws when the token was another request's. */
  once(call: string, input: unknown, make: () => unknown): unknown {
    const token = isObject(input) ? input["ClientToken"] : undefined;
    if (typeof token !== "string") return make();
    const key = `${call}/${token}`;
    const request = canonicalJson(input);
    const known = this.#answered.get(key);
    if (known?.request === request) return known.answer;
    if (known !== undefined)
      throw new AwsError(
        "IdempotentParameterMismatch",
        "The request uses the same client token as a previous, but non-identical request.",
      );
    const answer = make();
    this.#answered.set(key, { request, answer });
    if (this.#answered.size > REMEMBERED)
      this.#answered.delete(this.#answered.keys().next().value as string);
    return answer;
  }
}

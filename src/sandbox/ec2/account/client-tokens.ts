/**
 * Makes calls idempotent: if a client repeats a request with the same ClientToken, it gets the first answer
 * and nothing happens twice.
 */

import { canonicalJson, isObject } from "../../../base/json.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";

/** Number of tokens that are kept, because fleet requests are large. AWS forgets a token after a day. */
const REMEMBERED = 1_000;

/** Remembers answers by ClientToken: an equal request gets the same answer, another one an error. */
export class ClientTokens {
  readonly #answered = new Map<string, { readonly request: string; readonly answer: unknown }>();

  /**
   * Calls `make` for a new token, and returns the earlier answer for a known one. Throws if the token belongs
   * to another request.
   */
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

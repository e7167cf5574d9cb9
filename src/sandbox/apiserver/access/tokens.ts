/**
 * Tokens of service accounts. A token contains its claims and the server's signature, as in kube-apiserver. The
 * server stores no tokens.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isObject } from "../../../base/json.ts";

/** An object that a token is bound to. The token becomes invalid when the object is deleted. */
export interface Reference {
  readonly name: string;
  readonly uid?: string;
}

/** The claims of a service account's token. */
export interface Claims {
  readonly aud: readonly string[];
  /**
   * Times of the token in seconds since 1970: `exp` is its end, `iat` the time at which it was issued, `nbf` the
   * beginning of its validity.
   */
  readonly exp: number;
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly "kubernetes.io": {
    readonly namespace: string;
    readonly node?: Reference;
    readonly pod?: Reference;
    readonly secret?: Reference;
    readonly serviceaccount: Reference;
  };
  readonly nbf: number;
  readonly sub: string;
}

/** Signs and verifies tokens. Each server has its own key, so tokens are valid for one server only. */
export class TokenSigner {
  readonly #key = randomBytes(32);

  sign(claims: Claims): string {
    const body = [{ alg: "RS256", kid: "sandbox" }, claims].map(encoded).join(".");
    return `${body}.${this.#signature(body)}`;
  }

  /** The claims of a token. Undefined: this server did not sign it. */
  read(token: string): Claims | undefined {
    const at = token.lastIndexOf(".");
    const body = token.slice(0, Math.max(at, 0));
    const given = Buffer.from(token.slice(at + 1));
    const wanted = Buffer.from(this.#signature(body));
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
    const [, payload = ""] = body.split(".");
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    return isObject(claims) ? (claims as unknown as Claims) : undefined;
  }

  #signature(body: string): string {
    return createHmac("sha256", this.#key).update(body).digest("base64url");
  }
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

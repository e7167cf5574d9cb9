/** What the server knows of the tokens that it gave to service accounts. */

export interface Token {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly id: string;
  readonly expiresMs: number;
  readonly audiences: readonly string[];
}

/** Tokens that were given out, by their text. They end with the server. */
export type Tokens = Map<string, Token>;

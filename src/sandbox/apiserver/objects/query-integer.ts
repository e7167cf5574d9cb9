/** Integers in queries, read as Go's strconv.ParseInt does for int64. */
import { numberOfInt64 } from "../../../base/int64.ts";
import { badRequest } from "../request/status.ts";

/** The integer. Throws 400 with Go's text if it is none, or no int64. */
export function int64Of(text: string): number {
  const refused = (why: string) =>
    badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[-+]?\d+$/.test(text)) throw refused("invalid syntax");
  const integer = BigInt(text.replace(/^\+/, ""));
  if (BigInt.asIntN(64, integer) !== integer) throw refused("value out of range");
  return numberOfInt64(integer);
}

/** Why a pool or a node class is not ready, in the words of its conditions. */
import { condition } from "../../apis/karpenter/conditions.ts";
import type { Condition, KubeObject } from "../../apis/meta.ts";

/** The field of a pool that names its node class. */
interface WithClass extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly nodeClassRef?: { readonly kind?: string; readonly name?: string };
      };
    };
  };
}

/** Upstream's texts for a node class that is missing or is being deleted. They do not name the class. */
const NAMELESS = ["NodeClass not found", "NodeClass is Terminating"];

/** The condition that keeps the object from being ready, with its message: `NodeClassReady (NodeClass not found)`. */
export function conditionToMend(object: KubeObject, own: Condition): string {
  const [, named = ""] = /(\w+)=(?:False|Unknown)/.exec(own.message ?? "") ?? [];
  const cause = (named === "" ? undefined : condition(object, named)) ?? own;
  const told = cause.message || cause.reason;
  return told ? `${cause.type} (${told})` : cause.type;
}

/** The condition's message; where it only names other conditions, such as `NodeClassReady=False`, their messages, too. */
export function whyNotReady(object: KubeObject, { type: own, message, reason }: Condition): string {
  const text = message || reason || "no reason is given";
  const named = [...text.matchAll(/(\w+)=(?:False|Unknown)/g)].flatMap(([, type = ""]) => {
    const why = type === own ? undefined : condition(object, type)?.message;
    return why ? [why] : [];
  });
  const why = named.length === 0 ? text : `${text}: ${named.join("; ")}`;
  const ref = (object as WithClass).spec?.template?.spec?.nodeClassRef;
  return ref?.name !== undefined && NAMELESS.some((part) => why.includes(part))
    ? `${why}: ${ref.kind ?? "class"} ${ref.name}`
    : why;
}

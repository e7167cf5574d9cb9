/**
 * Where a webhook may be called: `https://host[/path]`, and nothing else.
 * upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/validation.go, ValidateWebhookURL
 */
import { invalid } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";

const FORM = "; desired format: https://host[/path]";
/** Scheme, authority, query and fragment, as RFC 3986 takes a URL apart. */
const PARTS = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/;

/** What is wrong with the URL of a webhook, in the order in which kube-apiserver says it. */
export function webhookUrlErrors(field: string, url: string): FieldError[] {
  const [, scheme = "", authority = "", query = "", fragment = ""] = PARTS.exec(url) ?? [];
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(0, at));
  const host = authority.slice(at + 1);
  return [
    ...(scheme.toLowerCase() === "https"
      ? []
      : [invalid(field, scheme, `'https' is the only allowed URL scheme${FORM}`)]),
    ...(host === "" ? [invalid(field, host, `host must be specified${FORM}`)] : []),
    ...(at < 0 ? [] : [invalid(field, user, "user information is not permitted in the URL")]),
    ...(fragment === ""
      ? []
      : [invalid(field, fragment, "fragments are not permitted in the URL")]),
    ...(query === ""
      ? []
      : [invalid(field, query, "query parameters are not permitted in the URL")]),
  ];
}

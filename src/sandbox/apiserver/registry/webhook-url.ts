/**
 * Checks the URL of a webhook: only `https://host[/path]` is allowed.
 * upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/validation.go, ValidateWebhookURL
 */
import { invalid } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";

const FORM = "; desired format: https://host[/path]";
/** Splits a URL into scheme, authority, query and fragment (RFC 3986, appendix B). */
const PARTS = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/;

/** Errors of a webhook's URL, in kube-apiserver's order. */
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

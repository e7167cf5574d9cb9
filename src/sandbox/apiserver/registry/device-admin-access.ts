/**
 * Who may claim devices with `adminAccess`, which looks at devices that other claims use: namespaces with a label.
 * upstream: pkg/registry/resource/utils.go
 */
import type { StoreReader } from "../resource-definition.ts";
import { forbidden } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";

const LABEL = "resource.kubernetes.io/admin-access";

/**
 * The error if a new claim or template requests devices with `adminAccess` and the namespace has no label for it.
 * kube-apiserver names the same field for both kinds.
 */
export function adminRequestErrors(
  devices: Raw,
  namespace: string | undefined,
  store: StoreReader,
): FieldError[] {
  const requests: readonly Raw[] = devices?.requests ?? [];
  const at = requests.findIndex(({ exactly }) => exactly?.adminAccess === true);
  return at < 0 ? [] : unlabelled(`spec.devices.requests[${at}].adminAccess`, namespace, store);
}

/** The error if a claim is newly given devices with `adminAccess` and the namespace has no label for it. */
export function adminResultErrors(claim: Raw, current: Raw, store: StoreReader): FieldError[] {
  const adminAt = ({ status }: Raw): number =>
    ((status?.allocation?.devices?.results ?? []) as readonly Raw[]).findIndex(
      ({ adminAccess }) => adminAccess === true,
    );
  const at = adminAt(claim);
  if (at < 0 || adminAt(current) >= 0) return [];
  const path = `status.allocation.devices.results[${at}].adminAccess`;
  return unlabelled(path, claim.metadata.namespace, store);
}

function unlabelled(path: string, namespace = "", store: StoreReader): FieldError[] {
  const found = store.get("namespaces", undefined, namespace);
  if (found?.metadata.labels?.[LABEL] === "true") return [];
  const text = `admin access to devices requires the \`${LABEL}: true\` label on the containing namespace`;
  return [forbidden(path, text)];
}

/**
 * kube-apiserver's ServiceAccount plugin. It sets the account name of a new pod. Every container gets a
 * volume with a token, the cluster's CA and the namespace, unless the account or the pod opts out.
 * upstream: kubernetes plugin/pkg/admission/serviceaccount/admission.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { fnv64Text } from "../../../base/fnv.ts";
import { deepFreeze } from "../../../base/json.ts";
import type { Call } from "../engine.ts";
import { forbidden } from "../request/status.ts";

interface Container {
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface PodShape extends KubeObject {
  readonly spec?: {
    readonly automountServiceAccountToken?: boolean;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly serviceAccountName?: string;
    readonly serviceAccount?: string;
    readonly volumes?: readonly { readonly name: string }[];
  };
}

const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const PREFIX = "kube-api-access-";
/** The characters that Kubernetes uses in generated names. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
/**
 * The volume content, shared by all pods. The lifetime is a little more than an hour, as upstream, so that
 * kubelets renew in time.
 */
const PROJECTED = deepFreeze({
  defaultMode: 420,
  sources: [
    { serviceAccountToken: { expirationSeconds: 3_607, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [
          { path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
        ],
      },
    },
  ],
});

/** The pod with its service account set. Throws 403 if the account does not exist. */
export function withServiceAccount({ engine, definition }: Call, pod: PodShape): PodShape {
  // Mirror pods belong to a kubelet, not to an account.
  if (pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) return pod;
  const name = pod.spec?.serviceAccountName || "default";
  const named = { ...pod, spec: { ...pod.spec, serviceAccountName: name, serviceAccount: name } };
  const { namespace } = pod.metadata;
  const account = engine.store.get("serviceaccounts", namespace, name) as
    | (KubeObject & { readonly automountServiceAccountToken?: boolean })
    | undefined;
  if (account === undefined) {
    const missing = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
    throw forbidden(definition, pod.metadata.name, missing);
  }
  const wanted =
    pod.spec?.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  return wanted ? withToken(named) : named;
}

function withToken(pod: PodShape): PodShape {
  const { containers = [], initContainers, volumes = [] } = pod.spec ?? {};
  const known = volumes.find(({ name }) => name.startsWith(PREFIX))?.name;
  const name = known ?? `${PREFIX}${suffixOf(pod.metadata.uid ?? pod.metadata.name)}`;
  const mounted = (container: Container): Container => mountedOnce(container, name);
  const all = [...containers, ...(initContainers ?? [])];
  if (all.every((container) => mounted(container) === container)) return pod;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(mounted),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(mounted) }),
      volumes: known === undefined ? [...volumes, { name, projected: PROJECTED }] : volumes,
    },
  } as PodShape;
}

function mountedOnce(container: Container, name: string): Container {
  const { volumeMounts = [] } = container;
  if (volumeMounts.some(({ mountPath }) => mountPath === MOUNT_PATH)) return container;
  const mount = { name, readOnly: true, mountPath: MOUNT_PATH };
  return { ...container, volumeMounts: [...volumeMounts, mount] };
}

/**
 * The suffix of the volume name. It is computed from the pod's identity, so that equal runs give equal names.
 */
function suffixOf(text: string): string {
  let rest = fnv64Text(text);
  let suffix = "";
  for (let at = 0; at < 5; at++) {
    suffix += ALPHABET[Number(rest % BigInt(ALPHABET.length))];
    rest /= BigInt(ALPHABET.length);
  }
  return suffix;
}

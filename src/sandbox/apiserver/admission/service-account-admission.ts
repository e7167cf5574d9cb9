/**
 * What kube-apiserver's ServiceAccount plugin does to a new pod: it names the account, and gives every container a
 * token of it, the cluster's CA and the namespace in a volume, unless account or pod say that they want none.
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
/** As of generated names. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
/** One for all pods. A little more than an hour, so that kubelets renew it in time. */
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

/** Throws 403 for an account that is not there. */
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

/** Made from the pod's identity, not at random, so that the same story always gives the same names. */
function suffixOf(text: string): string {
  let rest = fnv64Text(text);
  let suffix = "";
  for (let at = 0; at < 5; at++) {
    suffix += ALPHABET[Number(rest % BigInt(ALPHABET.length))];
    rest /= BigInt(ALPHABET.length);
  }
  return suffix;
}

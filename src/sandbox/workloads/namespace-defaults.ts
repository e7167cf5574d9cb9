/** Objects that every namespace gets: the default ServiceAccount, and the cluster's CA as a ConfigMap. */
import { CONFIG_MAP, NAMESPACE, SERVICE_ACCOUNT } from "../../apis/core/kinds.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import type { PartDeps } from "../parts.ts";

/** Gives each namespace the service account `default` and the ConfigMap `kube-root-ca.crt`. */
export function namespaceDefaultsController(deps: PartDeps, caBundle: () => string): Controller {
  const { kube, mirrors } = deps;
  const namespaces = mirrors.of(NAMESPACE);

  async function reconcile({ name: namespace }: Request): Promise<Outcome> {
    const found = namespaces.get(namespace);
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    await ensure(() =>
      kube.create(SERVICE_ACCOUNT, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "default", namespace },
      }),
    );
    await ensure(() =>
      kube.create(CONFIG_MAP, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: "kube-root-ca.crt",
          namespace,
        },
        data: { "ca.crt": caBundle() },
      }),
    );
    return AWAIT_CHANGE;
  }

  return {
    name: "namespace-defaults",
    watches: [
      source(NAMESPACE, (namespace, event) =>
        event === "added" ? [{ kind: "Namespace", name: namespace.metadata.name }] : [],
      ),
    ],
    concurrency: 2,
    reconcile,
  };
}

async function ensure(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

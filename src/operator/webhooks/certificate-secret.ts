/**
 * The Secret through which replicas share their certificate. The first replica fills it. If another replica writes at
 * the same time, its write fails because of the resourceVersion, and it uses the stored certificate. A chart may create
 * the Secret empty. Its keys are knative's.
 */

import { SECRET, type Secret } from "../../apis/core/kinds.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { isAlreadyExists, isConflict } from "../../kube/errors.ts";
import { makeCertificate, type ServingCertificate, whyRenew } from "./certificate.ts";

const KEYS = {
  keyPem: "server-key.pem",
  certPem: "server-cert.pem",
  caPem: "ca-cert.pem",
} as const;

const ATTEMPTS = 5;

/** What is needed to read and write the Secret. */
export interface CertificateSecretDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly name: string;
  readonly namespace: string;
  /** Host names for which the certificate must be valid. */
  readonly hosts: readonly string[];
}

/**
 * The certificate in the Secret. It is created or renewed if needed. `inUse`: the one that this replica uses; it is
 * restored if the Secret was lost. Rejects with KubeError if the Secret cannot be read or written.
 */
export async function keepCertificate(
  deps: CertificateSecretDeps,
  inUse?: ServingCertificate,
): Promise<ServingCertificate> {
  const { client, clock, log, name, namespace, hosts } = deps;
  for (let attempt = 1; ; attempt++) {
    const held = await getIfThere(client, SECRET, { name, namespace });
    const found = held === undefined ? undefined : read(held);
    const reason = found === undefined ? "there is none" : whyRenew(found, hosts, clock.now());
    if (found !== undefined && reason === undefined) return found;
    const useful = inUse !== undefined && whyRenew(inUse, hosts, clock.now()) === undefined;
    const next =
      found === undefined && useful
        ? inUse
        : await makeCertificate(hosts, clock.now(), found ?? inUse);
    try {
      await write(client, held, { name, namespace }, next);
      log.info("made a certificate for webhooks", { secret: `${namespace}/${name}`, reason });
      return next;
    } catch (error) {
      const lostRace = isConflict(error) || isAlreadyExists(error);
      if (!lostRace || attempt === ATTEMPTS) throw error;
    }
  }
}

function read({ data = {} }: Secret): ServingCertificate | undefined {
  const text = (key: string): string | undefined =>
    data[key] === undefined ? undefined : Buffer.from(data[key], "base64").toString("utf8");
  const [keyPem, certPem, caPem] = [text(KEYS.keyPem), text(KEYS.certPem), text(KEYS.caPem)];
  if (!keyPem || !certPem || !caPem) return undefined;
  return { keyPem, certPem, caPem };
}

async function write(
  client: KubeClient,
  held: Secret | undefined,
  ref: { readonly name: string; readonly namespace: string },
  certificate: ServingCertificate,
): Promise<void> {
  const ours = Object.entries(KEYS).map(([field, key]) => [
    key,
    Buffer.from(certificate[field as keyof ServingCertificate]).toString("base64"),
  ]);
  const data = { ...held?.data, ...Object.fromEntries(ours) } as Record<string, string>;
  if (held !== undefined) {
    await client.update(SECRET, { ...held, data });
    return;
  }
  const metadata = { ...ref, labels: { "app.kubernetes.io/part-of": "karpenter" } };
  await client.create(SECRET, { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data });
}

/**
 * Runs the webhooks on a real cluster, in every replica. They run if an installed CRD needs conversion, or a v1alpha5
 * kind needs admission. Then this file gets a certificate, serves the webhooks, and writes their address into the
 * configuration. With upstream's CRDs, which have only v1, it does nothing. A failure is logged at once and then every
 * minute, with the missing right, and retried. It never stops the controllers.
 */

import {
  type Crd,
  CUSTOM_RESOURCE_DEFINITION,
} from "../../apis/core/custom-resource-definition.ts";
import { SERVICE } from "../../apis/core/kinds.ts";
import { type AdmissionSettings, answerWebhookInSteps } from "../../apis/hub/admission.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { Reminders } from "../../base/reminders.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { isConflict, isNotFound, KubeError } from "../../kube/errors.ts";
import { reflect } from "../../kube/mirror/watch.ts";
import { type Listener, PortError, type TlsIdentity } from "../../listen/listener.ts";
import { type ServingCertificate, validUntilMs } from "./certificate.ts";
import { keepCertificate } from "./certificate-secret.ts";
import {
  ADMITTED,
  CONVERTED,
  conversionWish,
  isStoredOlder,
  type WebhookAddress,
  wantedConfigurations,
  withAddress,
  withConversion,
} from "./registration.ts";
import { serveWebhooks } from "./server.ts";

/** Milliseconds between two checks. A Secret that another replica renewed is noticed at the next check, too. */
const LOOK_AGAIN_MS = 60_000;
const RETRY_BASE_MS = 2_000;

/** What is needed to serve the webhooks. */
export interface WebhooksDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The port to listen on. 0: any free port. */
  readonly port: number;
  readonly host?: string;
  /** Authority of the API server's client certificate. Absent: no certificate is required. */
  readonly clientCaPem?: string | undefined;
  /** The address at which the API server calls the webhooks. */
  readonly address: WebhookAddress;
  /** Name and namespace of the certificate's Secret. */
  readonly secret: { readonly name: string; readonly namespace: string };
  readonly admission: AdmissionSettings;
}

/** The running webhooks. */
export interface Webhooks {
  /** Whether there is nothing to wait for: the webhooks are served, not needed, or cannot be served. */
  readonly settled: boolean;
  /**
   * Whether mirrors wait for conversion by this or another replica. A replica that serves conversion must be ready
   * before its mirrors are filled, because otherwise the Service would have no endpoint.
   */
  readonly isWaitedFor: boolean;
  /** The port on which webhooks are served. Undefined: they are not served. */
  readonly port: number | undefined;
  stop(): Promise<void>;
}

/** Starts the webhooks at once, in the background. */
export function startWebhooks(deps: WebhooksDeps): Webhooks {
  const loop = new WebhookLoop(deps);
  loop.start();
  return loop;
}

class WebhookLoop implements Webhooks {
  readonly #deps: WebhooksDeps;
  readonly #stops: (() => void)[] = [];
  #server: Listener | undefined;
  #certificate: ServingCertificate | undefined;
  #settled = false;
  #storedOlder = false;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #again = false;
  #busy = false;
  #failures = 0;
  #said = "";
  readonly #reminders: Reminders;

  constructor(deps: WebhooksDeps) {
    this.#deps = deps;
    this.#reminders = new Reminders(deps.clock);
  }

  get settled(): boolean {
    return this.#settled;
  }

  get isWaitedFor(): boolean {
    return this.#server !== undefined && this.#storedOlder;
  }

  get port(): number | undefined {
    return this.#server?.port;
  }

  start(): void {
    for (const name of [...CONVERTED, ...ADMITTED]) {
      // A CRD that is installed or replaced later is noticed at once.
      const loop = reflect({
        ...this.#deps,
        kind: CUSTOM_RESOURCE_DEFINITION,
        fieldSelector: `metadata.name=${name}`,
        onList: ({ items }) => items.length > 0 && this.#wake(),
        onEvent: () => this.#wake(),
      });
      this.#stops.push(() => loop.close());
    }
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const stop of this.#stops) stop();
    this.#timer?.cancel();
    await this.#running;
    await this.#server?.close();
  }

  #wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (!this.#busy) this.#running = this.#run();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    this.#timer?.cancel();
    let waitMs = LOOK_AGAIN_MS;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        await this.#step();
        this.#failures = 0;
        waitMs = LOOK_AGAIN_MS;
      } catch (error) {
        waitMs = Math.min(LOOK_AGAIN_MS, RETRY_BASE_MS * 2 ** Math.min(this.#failures++, 5));
        // Another replica wrote first. Its object is read again.
        if (!isConflict(error)) this.#say("error", ...failure(error));
      }
      this.#settled = true;
    }
    this.#busy = false;
    if (!this.#stopped) this.#timer = this.#deps.clock.after(waitMs, () => this.#wake());
  }

  async #step(): Promise<void> {
    const { client, address, secret } = this.#deps;
    const converted = await this.#crds(CONVERTED);
    const admitted = (await this.#crds(ADMITTED)).length > 0;
    this.#storedOlder = converted.some(isStoredOlder);
    const missing = converted.filter((crd) => conversionWish(crd) === "missing");
    if (!admitted && !converted.some((crd) => conversionWish(crd) === "webhook")) {
      const unconverted = missing.map(({ metadata }) => metadata.name);
      if (unconverted.length > 0)
        this.#say("warn", "kinds are served in two versions without conversion", {
          crds: unconverted,
          remedy: "apply deploy/crds",
        });
      else this.#say("debug", "webhooks are not needed: nothing to convert or to admit", {});
      return;
    }
    if ("service" in address && !(await this.#hasService(address.service))) {
      const { namespace, name } = address.service;
      this.#say("warn", "webhooks are not served: the API server would not find them", {
        service: `${namespace}/${name} does not exist`,
        remedy:
          "make it or name it by --karpenter-service, or outside the cluster set --webhook-url",
      });
      return;
    }
    const certificate = await keepCertificate(
      { ...this.#deps, ...secret, hosts: hostsOf(address) },
      this.#certificate,
    );
    await this.#listen(certificate);
    await registerAll(client, address, certificate.caPem, converted, admitted);
    // The certificate is used only after every caller trusts its authority.
    this.#use(certificate);
    this.#say("info", "webhooks are served", {
      port: this.#server?.port,
      converted: converted.length - missing.length,
      admission: admitted,
    });
  }

  async #crds(names: readonly string[]): Promise<readonly Crd[]> {
    const found: Crd[] = [];
    for (const name of names) {
      const crd = await getIfThere(this.#deps.client, CUSTOM_RESOURCE_DEFINITION, { name });
      if (crd !== undefined && crd.metadata.deletionTimestamp === undefined) found.push(crd);
    }
    return found;
  }

  async #hasService(ref: { readonly name: string; readonly namespace: string }): Promise<boolean> {
    try {
      await this.#deps.client.get(SERVICE, ref);
      return true;
    } catch (error) {
      // If this replica may not read the Service, it assumes that the Service exists and serves the webhooks.
      if (error instanceof KubeError && error.status === 403) return true;
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #listen(certificate: ServingCertificate): Promise<void> {
    if (this.#server !== undefined) {
      // A new certificate is used at once only if the old one has expired. Otherwise callers must trust its authority
      // first.
      const inUse = this.#certificate;
      if (inUse === undefined || validUntilMs(inUse.certPem) <= this.#deps.clock.now())
        this.#use(certificate);
      return;
    }
    const { admission, clock, host, log, port } = this.#deps;
    this.#server = await serveWebhooks({
      port,
      host,
      identity: this.#identity(certificate),
      log,
      clock,
      answer: (path, review) => answerWebhookInSteps(path, review, admission),
    });
    this.#certificate = certificate;
  }

  #use(certificate: ServingCertificate): void {
    if (this.#certificate?.certPem === certificate.certPem) return;
    this.#certificate = certificate;
    this.#server?.use(this.#identity(certificate));
  }

  #identity({ certPem, keyPem }: ServingCertificate): TlsIdentity {
    return { certPem, keyPem, clientCaPem: this.#deps.clientCaPem };
  }

  /** Logs a state when it begins, and an error again every minute while it lasts. */
  #say(
    level: "debug" | "info" | "warn" | "error",
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ): void {
    const said = JSON.stringify([message, fields]);
    if (said !== this.#said) this.#reminders.over(message);
    const isDue = level === "error" && this.#reminders.isDue(message);
    if (said === this.#said && !isDue) return;
    this.#said = said;
    this.#deps.log[level](message, fields);
  }
}

/** Registers everything, even after a failure. The first failure is thrown at the end. */
async function registerAll(
  client: KubeClient,
  address: WebhookAddress,
  caPem: string,
  converted: readonly Crd[],
  admitted: boolean,
): Promise<void> {
  const failures: unknown[] = [];
  const attempt = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: unknown) => failures.push(error));
  for (const crd of converted) {
    const changed = withConversion(crd, address, caPem);
    if (changed !== undefined) await attempt(client.update(CUSTOM_RESOURCE_DEFINITION, changed));
  }
  for (const { kind, wanted } of admitted ? wantedConfigurations(address, caPem) : []) {
    const work = async (): Promise<void> => {
      const ref = { name: wanted.metadata.name };
      const held = await getIfThere(client, kind, ref);
      const changed = held === undefined ? undefined : withAddress(held, wanted);
      if (held === undefined) await client.create(kind, wanted);
      else if (changed !== undefined) await client.update(kind, changed);
    };
    await attempt(work());
  }
  if (failures.length > 0) throw failures[0];
}

/** The host names at which the API server calls the webhooks. */
function hostsOf(address: WebhookAddress): readonly string[] {
  if ("url" in address) return [new URL(address.url).hostname.replace(/^\[|\]$/g, "")];
  const { name, namespace } = address.service;
  const base = `${name}.${namespace}`;
  return [`${base}.svc`, `${base}.svc.cluster.local`, base, name];
}

function failure(error: unknown): [string, Readonly<Record<string, unknown>>] {
  const told = errorText(error);
  if (error instanceof KubeError && error.status === 403)
    return [
      "webhooks are not served: a right is missing",
      { error: told, remedy: "grant it to the controller's account, or set DISABLE_WEBHOOK=true" },
    ];
  if (error instanceof PortError)
    return [
      "webhooks are not served: cannot listen",
      { error: told, remedy: "choose another --webhook-port" },
    ];
  return ["webhooks are not served", { error: told, remedy: "mend what the error names" }];
}

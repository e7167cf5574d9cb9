/**
 * Credentials of a kubeconfig's user: a token, a certificate, a password, a credential plugin or OIDC. Files are read
 * again from time to time. Also the headers for impersonation.
 * upstream: client-go tools/clientcmd/validation.go, transport/round_trippers.go
 */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { fieldOf, isObject } from "../../base/json.ts";
import {
  type Credential,
  type Credentials,
  CredentialsError,
  cachedCredentials,
  fixedCredentials,
} from "../transport/credentials.ts";
import { type Entry, fileOf, pemOf, refused, textOf } from "./entry.ts";
import { type ExecCluster, type ExecConfig, execProblem, runExecPlugin } from "./exec-plugin.ts";
import { type OidcConfig, oidcTokens } from "./oidc.ts";

/** Milliseconds after which files with tokens and certificates are read again. upstream: client-go transport */
const FILE_LIFETIME_MS = 60_000;

/** Auth providers that client-go had until Kubernetes 1.26, and what replaces them. */
const REMOVED_PROVIDERS: Readonly<Record<string, string>> = {
  gcp: "install gke-gcloud-auth-plugin and run gcloud container clusters get-credentials again",
  azure: "install kubelogin and run kubelogin convert-kubeconfig",
};

/** What credential plugins need to know about the computer. */
export interface PluginHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a user can answer a plugin's questions. */
  readonly hasTerminal: boolean;
}

/**
 * The credentials of a user. `cluster`: the data of the cluster for plugins. Throws KubeconfigError with a remedy for
 * invalid entries.
 */
export function credentialsOf(
  user: Entry,
  cluster: ExecCluster,
  host: PluginHost,
  clock: Clock,
): Credentials {
  const problem = userProblem(user);
  if (problem !== undefined) throw refused(user, "user", problem);
  const exec = user.fields["exec"] as ExecConfig | undefined;
  if (exec !== undefined) {
    const why = execProblem(exec, host.hasTerminal);
    if (why !== undefined) throw refused(user, "user", `cannot log in: ${why}`);
    const folder = dirname(resolve(user.path));
    return cachedCredentials(() => runExecPlugin(exec, cluster, folder, host), clock, false);
  }
  if (user.fields["auth-provider"] !== undefined) return oidcCredentials(user, clock);
  return ownCredentials(user, clock);
}

/**
 * Why the entry cannot be used: fields that exclude each other, or a certificate without its key. Undefined: it can.
 */
function userProblem(user: Entry): string | undefined {
  const has = (...fields: readonly string[]) =>
    fields.some((field) => textOf(user, field) !== undefined);
  if (has("token") && has("username", "password"))
    return "has a token and a password; remove one of them";
  const isCertificate = has("client-certificate", "client-certificate-data");
  if (isCertificate && !has("client-key", "client-key-data"))
    return "has a client-certificate without its key; add client-key or client-key-data";
  if (user.fields["exec"] !== undefined && user.fields["auth-provider"] !== undefined)
    return "has an exec plugin and an auth-provider; remove the auth-provider";
  return undefined;
}

function oidcCredentials(user: Entry, clock: Clock): Credentials {
  const { name = "", config = {} } = user.fields["auth-provider"] as {
    readonly name?: string;
    readonly config?: OidcConfig;
  };
  if (name !== "oidc") {
    const remedy = fieldOf(REMOVED_PROVIDERS, name) ?? "use an exec plugin";
    throw refused(
      user,
      "user",
      `logs in with the auth-provider ${JSON.stringify(name)}, which Kubernetes has removed; ${remedy}`,
    );
  }
  const ca = pemOf({ ...user, fields: config }, "idp-certificate-authority");
  return cachedCredentials(
    oidcTokens(config, ca, () => clock.now()),
    clock,
    false,
  );
}

function ownCredentials(user: Entry, clock: Clock): Credentials {
  const token = textOf(user, "token");
  const [username, password] = [textOf(user, "username"), textOf(user, "password")];
  const given: Credential = {
    ...(token === undefined ? {} : { token }),
    ...(username === undefined && password === undefined
      ? {}
      : { basic: { username: username ?? "", password: password ?? "" } }),
    ...certificate(pemOf(user, "client-certificate"), pemOf(user, "client-key")),
  };
  const unlessGiven = (field: string): string | undefined =>
    textOf(user, `${field}-data`) === undefined ? fileOf(user, field) : undefined;
  const files: CredentialFiles = {
    tokenFile: fileOf(user, "tokenFile"),
    certFile: unlessGiven("client-certificate"),
    keyFile: unlessGiven("client-key"),
  };
  return Object.values(files).every((one) => one === undefined)
    ? fixedCredentials(given)
    : fileCredentials(files, clock, given);
}

/** Absolute paths of credential files. */
export interface CredentialFiles {
  readonly tokenFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/**
 * Credentials from files, which are read again from time to time. If a file cannot be read, the previous credential is
 * kept. `given`: the credentials that are not in files, and the token until its file can be read.
 */
export function fileCredentials(
  { tokenFile, certFile, keyFile }: CredentialFiles,
  clock: Clock,
  given: Credential = {},
): Credentials {
  let last: Credential = given;
  const read = (file: string): string => {
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      throw new CredentialsError(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
    }
  };
  const tokenIn = (file: string): string => {
    try {
      return read(file).trim();
    } catch (error) {
      if (last.token === undefined) throw error;
      return last.token;
    }
  };
  const fetch = async () => {
    const next: Credential = {
      ...given,
      ...(tokenFile === undefined ? {} : { token: tokenIn(tokenFile) }),
      ...certificate(
        certFile === undefined ? given.clientCertificate?.certPem : read(certFile),
        keyFile === undefined ? given.clientCertificate?.keyPem : read(keyFile),
      ),
    };
    // Unchanged credentials keep the same object, so that connections are not closed.
    if (JSON.stringify(next) !== JSON.stringify(last)) last = next;
    return { credential: last, forMs: FILE_LIFETIME_MS };
  };
  return cachedCredentials(fetch, clock, true);
}

function certificate(certPem: string | undefined, keyPem: string | undefined): Credential {
  return certPem === undefined || keyPem === undefined
    ? {}
    : { clientCertificate: { certPem, keyPem } };
}

/**
 * Headers for impersonation. A header with several values is sent several times. Throws KubeconfigError.
 * upstream: client-go transport/round_trippers.go, impersonatingRoundTripper
 */
export function impersonation(user: Entry): Record<string, string | string[]> {
  const [as, uid] = [textOf(user, "as"), textOf(user, "as-uid")];
  const groups = textsOf(user, "as-groups", user.fields["as-groups"] ?? []);
  const extra = user.fields["as-user-extra"] ?? {};
  if (!isObject(extra)) throw refused(user, "user", "has an as-user-extra that is no map of lists");
  const extras = Object.entries(extra).map(([key, values]) => [
    `impersonate-extra-${escapedKey(key)}`,
    textsOf(user, `as-user-extra.${key}`, values),
  ]);
  if (as === undefined && (uid !== undefined || groups.length > 0 || extras.length > 0))
    throw refused(user, "user", "sets as-uid, as-groups or as-user-extra without as; add as: NAME");
  return {
    ...(as === undefined ? {} : { "impersonate-user": headerText(user, "as", as) }),
    ...(uid === undefined ? {} : { "impersonate-uid": headerText(user, "as-uid", uid) }),
    ...(groups.length === 0 ? {} : { "impersonate-group": groups }),
    ...Object.fromEntries(extras),
  };
}

function textsOf(user: Entry, field: string, values: unknown): string[] {
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string"))
    throw refused(user, "user", `has a ${field} that is no list of texts`);
  return values.map((value) => headerText(user, field, value));
}

/** The value as UTF-8 bytes, one character for each byte. */
function headerText(user: Entry, field: string, value: string): string {
  const bytes = Buffer.from(value, "utf8").toString("latin1");
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(bytes)) return bytes;
  throw refused(user, "user", `has a control character in ${field}`);
}

/**
 * Escapes characters that a header's name must not contain, as in URLs.
 * upstream: the same file, headerKeyEscape
 */
function escapedKey(key: string): string {
  return [...Buffer.from(key, "utf8")]
    .map((byte) => String.fromCharCode(byte))
    .map((char) =>
      /[!#$&'*+.^_`|~0-9A-Za-z-]/.test(char)
        ? char
        : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("");
}

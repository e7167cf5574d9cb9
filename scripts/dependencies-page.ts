/**
 * docs/reference/dependencies.md: every package that runs with the program, with its licence and its reason.
 * Packages come from package-lock.json; the reasons are here. `test/dependencies.test.ts` compares both.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** More packages than this need a reason in MORE. */
export const MOST = { direct: 20, total: 60 } as const;

/** Why there are more packages than MOST allows. */
export const MORE: Readonly<Partial<Record<keyof typeof MOST, string>>> = {
  direct:
    "Five are parts of OpenTelemetry's SDK. They are optional: `npm install --omit=optional` leaves them out. Without them there are 19.",
  total:
    "The AWS SDK, `selfsigned` and OpenTelemetry's SDK are each one product that its makers publish in many small packages. Without these three there are at most 30.",
};

/** Why each direct dependency is needed: what this project would have to write itself. */
export const REASONS: Readonly<Record<string, string>> = {
  "@aws-sdk/client-ec2": "Calls EC2. Signing, retries and credentials are AWS's own.",
  "@aws-sdk/client-eks": "Reads the cluster's version, endpoint and network from EKS.",
  "@aws-sdk/client-iam": "Makes and removes the instance profiles of node classes.",
  "@aws-sdk/client-pricing": "Reads on-demand prices.",
  "@aws-sdk/client-sqs": "Takes interruption messages from the queue.",
  "@aws-sdk/client-ssm": "Finds images by their alias.",
  "@aws-sdk/client-sts": "Says which account and role the credentials are of.",
  "@bufbuild/protobuf": "Reads protobuf, which newer kubectl sends to the sandbox.",
  "@marcbachmann/cel-js": "Evaluates CEL: rules of CRDs, admission policies and device selectors.",
  "@opentelemetry/api": "The words in which spans are handed to OpenTelemetry's SDK.",
  "@opentelemetry/exporter-trace-otlp-http": "Sends traces as JSON over HTTP.",
  "@opentelemetry/exporter-trace-otlp-proto": "Sends traces as protobuf over HTTP, the usual way.",
  "@opentelemetry/resources": "Reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.",
  "@opentelemetry/sdk-trace-base": "Samples, queues and batches spans by OpenTelemetry's settings.",
  "@smithy/core":
    "Signs and sends the calls to Zonal Shift, for which one call is needed and no whole client.",
  commander: "Parses command lines and prints help.",
  "js-yaml": "Reads and writes YAML.",
  picocolors: "Colours text for terminals.",
  pino: "Writes log lines as JSON.",
  "prom-client": "Counts metrics and writes them for Prometheus.",
  re2js: "Matches regular expressions as Go does, in linear time.",
  selfsigned: "Makes the certificate authority of the webhooks; Node cannot make certificates.",
  "smol-toml": "Reads the TOML of Bottlerocket's user data.",
  undici: "HTTP connections to the API server: pools, TLS, watches.",
};

/** A package of package-lock.json that runs with the program. */
export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly isDirect: boolean;
  readonly hasInstallScript: boolean;
  /** The direct dependencies that need this package. */
  readonly broughtBy: readonly string[];
}

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The packages that run with the program, by name. `lock`: the text of package-lock.json. */
export function runtimePackages(lock: string): readonly RuntimePackage[] {
  const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, Locked>> };
  const { dependencies = {}, optionalDependencies = {} } = packages[""] ?? {};
  const direct = Object.keys({ ...dependencies, ...optionalDependencies }).sort();
  const broughtBy = new Map<string, string[]>();
  for (const name of direct)
    for (const place of reached(packages, `node_modules/${name}`))
      broughtBy.set(place, [...(broughtBy.get(place) ?? []), name]);
  return [...broughtBy]
    .map(([place, by]) => {
      const { version, license = "", hasInstallScript = false } = packages[place] as Locked;
      const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
      const isDirect = place === `node_modules/${name}` && direct.includes(name);
      const broughtBy = by.filter((one) => one !== name);
      return { name, version, license, isDirect, hasInstallScript, broughtBy };
    })
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

/** All packages that `place` needs, itself included. Looks from the inner node_modules outwards, as Node does. */
function reached(packages: Readonly<Record<string, Locked>>, place: string): Set<string> {
  const found = new Set<string>();
  const open = [place];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    for (const name of Object.keys(packages[next]?.dependencies ?? {})) {
      let from: string = next;
      while (packages[`${from}/node_modules/${name}`] === undefined && from !== "")
        from = from.includes("/node_modules/")
          ? from.slice(0, from.lastIndexOf("/node_modules/"))
          : "";
      const inside = from === "" ? `node_modules/${name}` : `${from}/node_modules/${name}`;
      if (packages[inside] === undefined)
        throw new Error(`package-lock.json: ${next} needs ${name}, which is not in it`);
      open.push(inside);
    }
  }
  return found;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The Markdown of docs/reference/dependencies.md. */
export function dependenciesPage(): string {
  const lock = readFileSync(
    fileURLToPath(new URL("../package-lock.json", import.meta.url)),
    "utf8",
  );
  const all = runtimePackages(lock);
  const direct = all.filter(({ isDirect }) => isDirect);
  const others = all.filter(({ isDirect }) => !isDirect);
  const more = Object.values(MORE).map((reason) => `${reason}\n`);
  return `<!-- Generated by \`npm run generate\` from scripts/dependencies-page.ts and package-lock.json. Do not edit. -->

# Dependencies

${direct.length} packages are direct dependencies of the program; ${all.length} run with it in all. We keep to at most ${MOST.direct} and
${MOST.total}, or give a reason. None has an install script: \`npm ci --ignore-scripts\` installs all of them.

${more.join("\n")}
\`npm run audit\` asks the registry for known faults in these versions. A release holds them as bills of materials
([release](../guide/release.md)); the image holds their licences (\`/app/THIRD-PARTY-LICENSES.txt\`).

## Advisories looked up by hand

Where the registry gives no advisories, they are looked up by hand in public threads of other projects and in advisories'
texts. Last on 2026-11-29; that day the registry answered 405.

| package | looked up | verdict |
|---|---|---|
| \`js-yaml\` 5.5.0 | CVE-2026-53550, CVE-2026-59869, CVE-2026-84375: merge keys in quadratic time | Tried on our reader: each is refused within 0.15 s of CPU time |
| \`js-yaml\` 5.5.0 | GHSA-5p4m-2wfm-xmqj, GHSA-2883-xcg3-v3hh: \`!!omap\` in quadratic time (4.x) | Tried on our reader: 60,000 entries take 0.6 s of CPU time, in linear time |
| \`undici\` 7.30.2 | CVE-2026-1525 to 1528, 2229, 2581 (before 7.24.0), CVE-2026-12151, 9679, 9697, 11525, 6733 (before 7.28.0) | newer than the fixes |
| \`smol-toml\` 1.9.1 | CVE-2026-85730: endless loop at a comment (before 1.7.1) | newer than the fix; tried on our reader |
| \`yaml\` 2.9.1 | CVE-2026-33532: stack overflow (before 2.8.3) | newer than the fix; only tests use it |
| \`fast-xml-parser\` | CVE-2026-25896, CVE-2026-73569 and others | not installed: the AWS SDK brings it no more |
| \`vite\` 8.3.8, \`esbuild\` 0.28.2, \`vitest\` 4.1.11 | CVE-2026-39363, 39365 (vite before 8.0.5), GHSA-g7r4-m6w7-qqqr, CVE-2026-47429 | faults of servers for development, which no script starts |
| \`@opentelemetry/core\` 2.12.1 | GHSA-8988-4f7v-96qf: baggage without limit (before 2.8.0); CVE-2026-44902: exporter for Prometheus | newer than the fix, and no baggage is read; that exporter is not installed |
| \`@smithy/*\` | GHSA-6475-r3vj-m8vf: value of the region (\`@smithy/config-resolver\` before 4.4.0) | not installed; the SDK's region comes from a setting or from the instance |
| \`pino\` 10.4.0 | CVE-2025-57319: \`fast-redact\` | withdrawn; not installed |
| \`protobufjs\` | CVE-2026-44289: recursion without limit | not installed; \`@bufbuild/protobuf\` is another program, and no advisory of it was found |
| \`node-forge\`, \`bn.js\` | several | not installed: \`selfsigned\` 5 signs with WebCrypto |
| \`pkijs\`, \`asn1js\`, \`@peculiar/*\`, \`@noble/hashes\`, \`prom-client\`, \`re2js\`, \`@marcbachmann/cel-js\`, \`commander\`, \`bowser\`, \`tsyringe\` | searched by name | no advisory found |

## Direct

| package | version | licence | reason |
|---|---|---|---|
${direct.map((one) => `| \`${one.name}\` | ${one.version} | ${one.license} | ${REASONS[one.name] ?? ""} |`).join("\n")}

## Brought by these

| package | version | licence | brought by |
|---|---|---|---|
${others.map((one) => `| \`${one.name}\` | ${one.version} | ${one.license} | ${bringersOf(one)} |`).join("\n")}
`;
}

function bringersOf({ broughtBy }: RuntimePackage): string {
  const isAws = (name: string) => name.startsWith("@aws-sdk/");
  const others = broughtBy.filter((name) => !isAws(name)).map((name) => `\`${name}\``);
  return [...(broughtBy.some(isAws) ? ["the AWS SDK"] : []), ...others].join(", ");
}

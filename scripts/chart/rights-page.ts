/** The reference page of rights, from their table, for security reviews. */
import {
  consoleRights,
  profilingRights,
  RIGHTS,
  type Right,
  webhookRights,
} from "../../src/operator/rights.ts";

/** Markdown of `docs/reference/rights.md`. */
export function rightsPage(): string {
  return `# Rights of the controller

Generated from \`src/operator/rights.ts\` by \`npm run generate\`, like the chart's roles.

How we know that this list is right:

- Enough: Karpenter in the sandbox runs with exactly these rights, so every test would show a missing one.
- Not too much: \`test/rights.test.ts\` fails for a right that is not used.
- On a real control plane, kube-apiserver's audit log shows both (\`test/cluster/helm-install.test.ts\`).

A controller that lacks a right logs which one.

## Always

${tableOf(RIGHTS.filter(({ provider }) => provider === undefined))}

## With provider aws

${tableOf(RIGHTS.filter(({ provider }) => provider === "aws"))}

## With provider kwok

${tableOf(RIGHTS.filter(({ provider }) => provider === "kwok"))}

## With webhooks

The chart creates an empty Secret and the webhook configurations. So its roles have no right to create them.

${tableOf(webhookRights())}

## With the console

Only with \`--console-port\` above 0 (chart: \`controller.console.enabled\`).

${tableOf(consoleRights())}

## With profiles

Only with \`--enable-profiling\` (chart: \`controller.profiling.enabled\`).

${tableOf(profilingRights())}
`;
}

const PLACES: Readonly<Record<string, string>> = {
  "surge namespaces": "namespaces of `--surge-namespaces`, by default none",
};

function tableOf(rights: readonly Right[]): string {
  const rows = rights.map(({ group, resources, verbs, names, where, surges, gate, why }) => {
    const what = resources.map((one) => `${one}${group === "" ? "" : `.${group}`}`).join(", ");
    const only = names === undefined ? "" : ` named ${names.join(", ")}`;
    const place = where === "cluster" ? "" : ` (${PLACES[where] ?? where})`;
    const condition = surges === true ? "; not with `--surge-timeout 0`" : "";
    const gated = gate === undefined ? "" : `; with the gate ${gate} only`;
    return `| ${what}${only}${place} | ${verbs.join(", ")} | ${why}${condition}${gated} |`;
  });
  return ["| on | may | why |", "|---|---|---|", ...rows].join("\n");
}

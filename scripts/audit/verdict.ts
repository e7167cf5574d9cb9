/** What an answer of `npm audit --json` means. */

export type AuditVerdict =
  | { readonly kind: "clean" }
  | { readonly kind: "faults"; readonly lines: readonly string[] }
  /** The registry has no advisories, or did not answer. */
  | { readonly kind: "not-asked"; readonly reason: string };

interface Answer {
  readonly message?: string;
  readonly error?: { readonly summary?: string; readonly code?: string };
  readonly auditReportVersion?: number;
  readonly vulnerabilities?: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly severity: string;
        readonly via: readonly (string | { readonly title: string; readonly url: string })[];
      }
    >
  >;
}

/** The verdict on npm's output `text`. Any output but a report means that the registry gave no answer. */
export function auditVerdict(text: string): AuditVerdict {
  let answer: Answer;
  try {
    answer = JSON.parse(text) as Answer;
  } catch {
    return { kind: "not-asked", reason: "its answer is no JSON" };
  }
  const { error, message, auditReportVersion, vulnerabilities } = answer;
  if (auditReportVersion === undefined || vulnerabilities === undefined) {
    const reason = error?.summary || error?.code || message || "its answer is no report";
    return { kind: "not-asked", reason };
  }
  const lines = Object.values(vulnerabilities).flatMap(({ name, severity, via }) =>
    via.flatMap((one) =>
      typeof one === "string" ? [] : [`${name} (${severity}): ${one.title}, ${one.url}`],
    ),
  );
  return lines.length === 0 ? { kind: "clean" } : { kind: "faults", lines: lines.sort() };
}

/** The forms that a report can have, by the name that `-o` takes. */
export const REPORT_FORMATS = ["markdown", "html", "svg"] as const;

export type ReportFormat = (typeof REPORT_FORMATS)[number];

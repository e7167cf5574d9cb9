/** Prints a report in the wanted format. */
import { type Printed, printedDocument } from "../../base/printable.ts";
import { REPORT_FORMATS, type ReportFormat } from "./format-names.ts";
import { htmlReport } from "./html.ts";
import { markdownReport } from "./markdown.ts";
import type { Report } from "./report.ts";
import { svgReport } from "./svg.ts";

export type { ReportFormat } from "./format-names.ts";

const WRITERS: Readonly<Record<ReportFormat, (report: Report) => string>> = {
  markdown: markdownReport,
  html: htmlReport,
  svg: svgReport,
};

export function isReport(format: string): format is ReportFormat {
  return (REPORT_FORMATS as readonly string[]).includes(format);
}

/** The complete document of a report in this format. */
export function printedReport(report: Report, format: ReportFormat): Printed {
  return printedDocument(WRITERS[format](report));
}

/** What `karpenter explain` does: one question about what is read, one answer out. Nothing is changed. */
import { printedLines } from "../../base/printable.ts";
import { type PlanStreams, STANDARD_STREAMS } from "../plan/run-plan.ts";
import { printed } from "../program/manifest-text.ts";
import { explain, subjectOf } from "./explain.ts";
import { explainText } from "./explain-text.ts";
import { type PictureFlags, readObjects, readPicture } from "./read-picture.ts";

export interface ExplainFlags extends PictureFlags {
  readonly namespace: string;
  readonly output: "text" | "json" | "yaml";
}

/** Throws CliError for bad input, and when there is no such object. */
export async function runExplain(
  words: readonly string[],
  flags: ExplainFlags,
  { out, err }: PlanStreams = STANDARD_STREAMS,
): Promise<void> {
  const subject = subjectOf(words);
  const read = await readPicture(flags, await readObjects(flags));
  const answer = explain(read, subject, flags.namespace);
  if (flags.output === "text") {
    out(explainText(answer, read.notes));
    return;
  }
  err(printedLines(read.notes.map((note) => `karpenter: note: ${note}`)));
  out(printed(answer, flags.output));
}

/** Runs `karpenter explain`: reads the cluster and answers one question. Changes nothing. */
import { printedLines } from "../../base/printable.ts";
import { type PlanStreams, STANDARD_STREAMS } from "../plan/run-plan.ts";
import { printed } from "../program/manifest-text.ts";
import { PLAIN_SCREEN } from "../program/terminal.ts";
import { isReport, printedReport } from "../report/formats.ts";
import { explainReport } from "./answer-reports.ts";
import { explain, explainPools, subjectOf } from "./explain.ts";
import { explainText, poolListText } from "./explain-text.ts";
import type { AnswerFormat } from "./picture-options.ts";
import { launchNotes, type PictureFlags, readObjects, readPicture } from "./read-picture.ts";
import { modelOf } from "./simulate.ts";

/** Flags of `karpenter explain`, as the parser gives them. */
export interface ExplainFlags extends PictureFlags {
  readonly namespace: string;
  readonly output: AnswerFormat;
}

/** Prints the answer. Throws CliError for bad input, or if the object does not exist. */
export async function runExplain(
  words: readonly string[],
  flags: ExplainFlags,
  { out, err, screen = () => PLAIN_SCREEN }: PlanStreams = STANDARD_STREAMS,
): Promise<void> {
  const { subject, name } = subjectOf(words);
  const objects = await readObjects(flags);
  const read = await readPicture(flags, objects, { withRoom: true });
  const notes = subject === "pod" ? [...read.notes, ...launchNotes(objects)] : read.notes;
  const toErr = (): void => err(printedLines(notes.map((note) => `karpenter: note: ${note}`)));
  // An object may be unknown because of what the notes say, such as a kind that may not be read.
  const answer = withNotes(toErr, () =>
    name === undefined ? explainPools(read) : explain(read, { subject, name }, flags.namespace),
  );
  if (flags.output === "text") {
    out(
      answer.kind === "NodePoolList"
        ? poolListText(answer, notes, screen(undefined))
        : explainText(answer, notes, screen(undefined)),
    );
    return;
  }
  if (isReport(flags.output)) {
    out(printedReport(explainReport(answer, modelOf(read), notes), flags.output));
    return;
  }
  toErr();
  out(printed(answer, flags.output));
}

/** Runs `answering`. Prints the notes if it throws. */
function withNotes<T>(print: () => void, answering: () => T): T {
  try {
    return answering();
  } catch (error) {
    print();
    throw error;
  }
}

/** The pods without a place at the end of a simulation: those because of the change, apart from those in any case. */
import { grouped } from "./format.ts";

/** A pod without a place at the end. */
export interface Unplaced {
  readonly pod: string;
  readonly reason: string;
  /** Whether it has no place without the change either. */
  readonly waitsAnyway: boolean;
}

/** How the page shows them, in the words of `karpenter simulate`. Only pods that wait because of the change are bad. */
export function unplacedPods(all: readonly Unplaced[]): {
  readonly figure: string;
  readonly isBad: boolean;
  readonly lists: readonly { readonly title: string; readonly lines: readonly string[] }[];
} {
  const stranded = all.filter(({ waitsAnyway }) => !waitsAnyway);
  const anyway = all.filter(({ waitsAnyway }) => waitsAnyway);
  return {
    figure: `${grouped(stranded.length)}${anyway.length === 0 ? "" : `, ${grouped(anyway.length)} in any case`}`,
    isBad: stranded.length > 0,
    lists: [
      { title: "Pods without a place because of this", lines: stranded.map(lineOf) },
      { title: "Pods without a place in any case", lines: anyway.map(lineOf) },
    ],
  };
}

function lineOf({ pod, reason }: Unplaced): string {
  return `${pod}: ${reason}`;
}

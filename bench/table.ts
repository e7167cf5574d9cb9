/** Tables in Markdown, and the form of money and percentages in them. */

export function cells(texts: readonly string[]): string {
  return `| ${texts.join(" | ")} |`;
}

export function dollars(microUsd: number): string {
  return (microUsd / 1e6).toFixed(2);
}

/** A percentage with its sign. */
export function percent(share: number): string {
  return `${share < 0 ? "−" : "+"}${(Math.abs(share) * 100).toFixed(1)} %`;
}

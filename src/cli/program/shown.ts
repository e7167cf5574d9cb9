/** Shortens values for error messages. */

/** Maximum number of characters of a value. */
const MOST_OF_VALUE = 60;
/** Maximum number of characters of a sentence that quotes values. */
const MOST_OF_SENTENCE = 600;
const END_OF_SENTENCE = 200;

/** The value as JSON, cut if it is long. */
export function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= MOST_OF_VALUE ? text : `${text.slice(0, MOST_OF_VALUE)}…`;
}

/** A sentence of another program. If it is long, its middle is removed: the end says what is wanted. */
export function shownSentence(text: string): string {
  if (text.length <= MOST_OF_SENTENCE) return text;
  return `${text.slice(0, MOST_OF_SENTENCE - END_OF_SENTENCE)} … ${text.slice(-END_OF_SENTENCE)}`;
}

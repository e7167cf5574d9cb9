/**
 * Upstream's sentence on why a pod has no place, shortened for people: one sentence for each pool, without its
 * overhead and the list of all its requirements. JSON and events have the whole sentence.
 */

/**
 * The reason for each pool, such as `default: no instance type has enough resources`. A sentence of another form is
 * left unchanged.
 */
export function reasonWords(reason: string): readonly string[] {
  return sentencesOf(reason).map((one) => {
    const pool = /^incompatible with (?:nodepool|provisioner) "([^"]*)"/.exec(one)?.[1];
    const words = withoutLists(one);
    return pool === undefined || words === one ? one : `${pool}: ${words}`;
  });
}

/**
 * The reason in a few words, however many pools there are: the words of the only pool, or those that all pools share,
 * or the number of pools.
 */
export function shortReason(reason: string): string {
  const [first = reason, ...others] = reasonWords(reason);
  if (others.length === 0) return first;
  const none = `none of ${others.length + 1} NodePools takes it`;
  const words = new Set([first, ...others].map((one) => one.slice(one.indexOf(": ") + 2)));
  return words.size === 1 ? `${none}: ${[...words][0]}` : none;
}

/** The sentences about the pools, in upstream's words. */
export function sentencesOf(reason: string): readonly string[] {
  return reason.split(/; (?=incompatible with )/);
}

/** The sentence about a pool without its name, overhead and requirements. */
export function withoutLists(sentence: string): string {
  return sentence
    .replace(/^incompatible with .*? daemonset overhead=\{.*?\}, /, "")
    .replace(/, requirements=.*$/, "");
}

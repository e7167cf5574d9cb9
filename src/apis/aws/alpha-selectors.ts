/**
 * Converts the selectors of an AWSNodeTemplate, which are maps, to the selector terms of later API versions. In a map,
 * all keys must match, and a comma separates alternatives. Terms are alternatives. So a map becomes one term for each
 * combination of its alternatives. They have the order of upstream's converter: keys are sorted, the first key varies
 * fastest, and ids vary slowest.
 * upstream: karpenter-convert v0.32
 */
import type {
  AmiSelectorTerm,
  SecurityGroupSelectorTerm,
  SubnetSelectorTerm,
} from "./ec2nodeclass.ts";

type Selector = Readonly<Record<string, string>>;

const ID_KEYS: readonly string[] = ["aws-ids", "aws::ids"];
const NAME_KEY = "aws::name";
const OWNERS_KEY = "aws::owners";

/**
 * Converts a selector of subnets: `{"karpenter.sh/discovery": "a,b"}` gives two terms. Each id is combined with the
 * tags of each term.
 */
export function subnetTerms(selector: Selector | undefined): readonly SubnetSelectorTerm[] {
  return combine(idsOf(selector), tagCombinations(selector, ID_KEYS));
}

/** Converts a selector of security groups. The terms are alternatives; all keys of a term must match. */
export function securityGroupTerms(
  selector: Selector | undefined,
): readonly SecurityGroupSelectorTerm[] {
  return combine(idsOf(selector), tagCombinations(selector, ID_KEYS));
}

/** Converts a selector of images. Owners vary slowest, then ids, names and tag combinations. */
export function amiTerms(selector: Selector | undefined): readonly AmiSelectorTerm[] {
  const special = [...ID_KEYS, NAME_KEY, OWNERS_KEY];
  const owners = alternatives(selector?.[OWNERS_KEY]);
  const names = alternatives(selector?.[NAME_KEY]);
  const base = combine(idsOf(selector), tagCombinations(selector, special), names);
  if (owners.length === 0) return base;
  return owners.flatMap((owner) =>
    (base.length === 0 ? [{}] : base).map((term) => ({ ...term, owner })),
  );
}

interface Term {
  id?: string;
  name?: string;
  tags?: Selector;
}

function combine(
  ids: readonly string[],
  tagSets: readonly Selector[],
  names: readonly string[] = [],
): readonly Term[] {
  let terms: Term[] = tagSets.map((tags) => (Object.keys(tags).length === 0 ? {} : { tags }));
  if (names.length > 0) terms = names.flatMap((name) => terms.map((term) => ({ name, ...term })));
  if (ids.length > 0) terms = ids.flatMap((id) => terms.map((term) => ({ id, ...term })));
  return terms.filter((term) => Object.keys(term).length > 0);
}

function idsOf(selector: Selector | undefined): readonly string[] {
  return ID_KEYS.flatMap((key) => alternatives(selector?.[key]));
}

/** Every combination of one alternative for each key. Without tag keys it is `[{}]`. */
function tagCombinations(
  selector: Selector | undefined,
  special: readonly string[],
): readonly Selector[] {
  const keys = Object.keys(selector ?? {})
    .filter((key) => !special.includes(key))
    .sort();
  let combinations: Selector[] = [{}];
  for (const key of keys) {
    // The first key varies fastest, so each further key repeats the whole list so far.
    combinations = alternatives(selector?.[key]).flatMap((value) =>
      combinations.map((chosen) => ({ ...chosen, [key]: value })),
    );
  }
  return combinations;
}

/** Splits a comma-separated list. `\,` is a comma inside a value. */
function alternatives(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  return text.split(/(?<!\\),/).map((part) => part.replaceAll("\\,", ",").trim());
}

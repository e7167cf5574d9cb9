/**
 * Alpha's map selectors → the terms that later generations spell out. Keys of a map are ANDed and commas
 * are alternatives, so a map is the cartesian product of its alternatives: exact for tags. Order as the
 * converter's: keys sorted, the first one varies fastest, ids outside. upstream: karpenter-convert v0.32
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

/** `{"karpenter.sh/discovery": "a,b"}` → two terms; ids beside tags stay ANDed in one term. */
export function subnetTerms(selector: Selector | undefined): readonly SubnetSelectorTerm[] {
  return combine(idsOf(selector), tagCombinations(selector, ID_KEYS));
}

/**
 * The v1 terms for a v1alpha selector of security groups. Terms are alternatives; the keys of one selector all
 * hold.
 */
export function securityGroupTerms(
  selector: Selector | undefined,
): readonly SecurityGroupSelectorTerm[] {
  return combine(idsOf(selector), tagCombinations(selector, ID_KEYS));
}

/** Owners outermost, then ids, names, tag combinations. */
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

/** Every choice of one alternative a key; `[{}]` when there are no tag keys. */
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

/** Comma list; `\,` is a comma inside a value. */
function alternatives(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  return text.split(/(?<!\\),/).map((part) => part.replaceAll("\\,", ",").trim());
}

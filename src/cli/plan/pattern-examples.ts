/**
 * An example for each pattern of our CRDs. The API server's error only quotes the pattern, which says little to people.
 * A test checks that each pattern of the CRDs has an example, and that the example matches.
 */

const QUANTITY =
  "(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?";

const EXAMPLES: ReadonlyMap<string, string> = new Map([
  // Amounts, such as those of `kubeReserved` and `evictionHard`.
  [`^${QUANTITY}$`, "500Mi"],
  [`^((\\d{1,2}(\\.\\d{1,2})?|100(\\.0{1,2})?)%|${QUANTITY})?$`, "10%"],
  [
    "^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$",
    "100Gi",
  ],
  // Disruption budgets: nodes, schedule, duration.
  ["^((100|[0-9]{1,2})%|[0-9]+)$", "10%"],
  [
    "^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$",
    "0 9 * * mon-fri",
  ],
  ["^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$", "8h"],
  // Durations: with and without Never.
  ["^(([0-9]+(s|m|h))+|Never)$", "30s"],
  ["^([0-9]+(s|m|h))+$", "30s"],
  // Labels: value, key. The group of a node class.
  ["^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", "team-a"],
  [
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
    "example.com/team",
  ],
  ["^[^/]*$", "karpenter.k8s.aws"],
  // NodeOverlay: price adjustment, price.
  ["^[+-]\\d+(\\.\\d+)?%?$", "-10%"],
  ["^\\d+(\\.\\d+)?$", "0.25"],
  // The reason of a condition.
  ["^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "NotReady"],
  // Zones, accounts and ids of AWS.
  ["^[a-z0-9-]+$", "eu-west-1a"],
  ["^[0-9]{12}$", "123456789012"],
  ["sg-[0-9a-z]+", "sg-0123456789abcdef0"],
  ["subnet-[0-9a-z]+", "subnet-0123456789abcdef0"],
  ["ami-[0-9a-z]+", "ami-0123456789abcdef0"],
  ["^cr-[0-9a-z]+$", "cr-0123456789abcdef0"],
  ["^pg-[0-9a-z]+$", "pg-0123456789abcdef0"],
]);

/** An example that matches the pattern. Undefined: it is no pattern of our CRDs. */
export function exampleOf(pattern: string): string | undefined {
  return EXAMPLES.get(pattern);
}

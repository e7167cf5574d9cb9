/**
 * Mutants: Karpenter with one rule removed, for each rule that the witness or a loop checks. The check must see the
 * difference, otherwise it proves nothing. `npm run fuzz -- mutants` plays them (try-mutants.ts). If you change a line
 * that is quoted here, change it here too; loops.test.ts says which one does not match.
 *
 * The rest of this comment records where each mutant was seen: its name, how many days were played until then, and the
 * fault that the witness reported. Only days with the event that the mutant needs are counted. A mutant with a `loop`
 * is seen in that loop.
 *
 * Seen on a random day that passes with the rule. Days from seed 91000 on:
 * - one-too-many 3: two Empty commands, where one is allowed.
 * - utc 8, winter-time 20: budgets of the cluster; a node while none may be disrupted.
 * - no-pause 7: a paused pool.
 * - whoever-stays 12: at 91048 a node with a held pod.
 * - orphans 1: at 91009 a claim without its instance for 30 minutes.
 * - leaks 1: at 91021 an instance without a claim for 30 minutes.
 * - no-memory 1: at 91002 a node that stays cordoned at rest.
 * - gone-when-expired 1: at 91007 a deletion that nothing explains.
 * - undrained 2, unseen-go 1: at 91001 pods on a node that is gone.
 * - stands-open 6, from 91001 on: at 91006 a claim is deleted while its node takes pods.
 *
 * Seeds below 91000 were played before the event "miss a pod" existed. Today these seeds give other days.
 * - guards-apart 25, from 89000 on: at 89029. It has a loop now.
 * - chatters 1, from 89000 on: the same event 180 times in ten minutes.
 * - any-number 5, from 89000 on: at 89039.
 * - gives-its-place: at 97154 12 CPUs, where the limit is 8.
 *
 * Seen on a random day that was not played with the rule:
 * - From 87000: held-pods-go 4 (an eviction), no-eviction 1 (a deletion too early).
 * - From 87000: no-waiting 1 (no replacement ready).
 * - From 87000: homeless 1 (no room elsewhere), no-limits 7 (more CPUs than the limit).
 * - From 88000: always-drifts 1, never-drifts 4, apart-only 4, used-ones-too 2, static-nodes-go 1, hurried 1.
 * - From 88000: kept-nodes-go 3, at-once 9.
 * - From 89000: deaf 1 (at 89008).
 */

import type { PoolFacts } from "./pools.ts";
import type { Act, Story } from "./story.ts";

export interface Change {
  readonly file: string;
  /** The text that the mutant replaces. It occurs once in the file. */
  readonly from: string;
  readonly to: string;
}

export interface Mutant extends Change {
  readonly name: string;
  /** Which rule is removed. */
  readonly without: string;
  /** A rule that would compensate for it, removed as well. */
  readonly also?: Change;
  /** The loop that it causes. Absent: random days show it. */
  readonly loop?: string;
  /** Title of the test in doubts.test.ts that fails. */
  readonly doubt?: string;
  /** Whether a day has an event that can show the fault. Absent: every day has. */
  readonly needs?: (story: Story) => boolean;
}

const NO_MEMORY: Change = {
  file: "src/core/disruption/unfinished.ts",
  from: "if (claim === undefined || node === undefined || deleting || isRebooting(claim)) return false;",
  to: "return false;",
};

const brings =
  (what: Act["do"]) =>
  ({ scenes }: Story): boolean =>
    scenes.some(({ act }) => act.do === what);

/** Whether a NodePool with this property has nodes at some time: it has a workload, or static replicas. */
const has =
  (what: (pool: PoolFacts) => boolean) =>
  ({ pools, apps }: Story): boolean =>
    pools.some(
      (pool) =>
        what(pool) && ((pool.replicas ?? 0) > 0 || apps.some((app) => app.pool === pool.name)),
    );

const NO_REST: Change = {
  file: "src/core/disruption/ledger.ts",
  from: "if (replacementCommandId(claim) === undefined || bornMs === undefined) return undefined;",
  to: "return undefined;",
};

export const MUTANTS: readonly Mutant[] = [
  {
    name: "one-too-many",
    without: "budgets, one node more goes",
    file: "src/core/disruption/budgets.ts",
    from: "allowed: Math.max(0, most - count.disrupting),",
    to: "allowed: Math.max(0, most + 1 - count.disrupting),",
  },
  {
    name: "utc",
    without: "time zones, budgets go by the clocks of UTC",
    file: "src/base/cron.ts",
    from: "    bothDays: daysOfMonth.star || weekdays.star,\n    zone,",
    to: "    bothDays: daysOfMonth.star || weekdays.star,\n    zone: undefined,",
  },
  {
    name: "winter-time",
    without: "daylight saving, clocks stay as they are in January",
    file: "src/base/cron.ts",
    from: "const offset = zone?.(at) ?? 0;",
    to: "const offset = zone?.(Date.UTC(2026, 0, 5)) ?? 0;",
  },
  {
    name: "no-pause",
    without: "the pause of a pool",
    needs: brings("pause"),
    file: "src/core/disruption/pause.ts",
    from: 'if (native?.metadata.annotations?.[key] !== "true") return undefined;',
    to: "if (native?.metadata.annotations?.[key] !== key) return undefined;",
  },
  {
    name: "whoever-stays",
    without: "do-not-disrupt on pods",
    needs: ({ apps }) => apps.some(({ held }) => held),
    file: "src/core/disruption/candidates.ts",
    from: 'if (verdict.kind !== "always" && verdict.kind !== "until") continue;',
    to: "if (verdict !== undefined) continue;",
  },
  {
    name: "held-pods-go",
    without: "do-not-disrupt during a drain",
    needs: ({ apps }) => apps.some(({ held }) => held),
    file: "src/controllers/node/eviction-queue.ts",
    from: 'if (hasDoNotDisrupt(pod, nowMs)) return "again";',
    to: "",
  },
  {
    name: "no-eviction",
    without: "the eviction API, pods are deleted",
    file: "src/controllers/node/eviction-queue.ts",
    from: "if (mustDelete(pod, entry.deadlineMs, nowMs))",
    to: "if (mustDelete(pod, entry.deadlineMs, nowMs) || nowMs > 0)",
  },
  {
    name: "no-waiting",
    without: "waiting for replacements",
    file: "src/controllers/disruption/command-queue.ts",
    from: "if (waiting.length === 0)",
    to: "if (waiting.length >= 0)",
  },
  {
    name: "homeless",
    without: "that every pod of a node that goes has a place",
    file: "src/core/disruption/simulate.ts",
    from: "for (const { pod, message } of unschedulable) noPlaceFor",
    to: "for (const { pod, message } of unschedulable.slice(1_000)) noPlaceFor",
  },
  {
    name: "no-limits",
    without: "the limits of a pool",
    needs: has(({ cpuLimit, nodeLimit }) => (cpuLimit ?? nodeLimit) !== undefined),
    file: "src/core/nodepool/limits.ts",
    from: "remaining[name] = (limits[name] as number) - (usage[name] ?? 0);",
    to: "remaining[name] = 2 * (limits[name] as number) - (usage[name] ?? 0);",
  },
  {
    name: "orphans",
    without: "the end of claims whose instance is gone",
    needs: brings("force node away"),
    file: "src/core/nodeclaim/garbage.ts",
    from: "return node === undefined || !isReadyNode(node);",
    to: "return node?.metadata.name === '';",
  },
  {
    name: "leaks",
    without: "the end of instances that no claim names",
    needs: brings("force claim away"),
    file: "src/core/nodeclaim/garbage.ts",
    from: "return !claimed.has(machineOf(instance.status?.providerID));",
    to: "return claimed.has(machineOf(instance.status?.providerID)) && instance.status === undefined;",
  },
  {
    name: "moved-for-ever",
    without: "the bound of moves in an hour",
    file: "src/core/disruption/ledger.ts",
    from: "if (recent.length === 0) return undefined;",
    to: "if (recent.length >= 0) return undefined;",
    // On random days the hold-off prevents this fault, so a loop is played.
    loop: "prices-swing.yaml",
  },
  {
    name: "no-rest",
    without: "the rest of nodes that came in place of others",
    ...NO_REST,
    loop: "two-into-one-and-back.yaml",
  },
  {
    name: "left-closed",
    without: "that nodes of a command that failed open again",
    file: "src/controllers/disruption/roll-back.ts",
    from: "  await each(views, (one) => untaint(world, one));\n  if (errors.length === 0) await each(views, (one) => unmark(world, one));\n",
    to: "",
    // With NO_MEMORY too. Otherwise the process would soon continue its own unfinished commands, as it continues those
    // of a process that ended.
    also: NO_MEMORY,
    loop: "out-of-stock.yaml",
  },
  {
    name: "no-memory",
    without: "that what a process began is picked up by the next",
    needs: brings("kill amid a move"),
    ...NO_MEMORY,
  },
  {
    name: "always-drifts",
    without: "rest once nothing is left to do, every claim is of another template",
    file: "src/core/nodeclaim/drifted.ts",
    from: "if (hash === undefined || hash === pool.hash) return false;",
    to: "if (hash === undefined) return false;",
  },
  {
    name: "never-drifts",
    without: "drift, nodes of an old template stay as they are",
    needs: brings("change pool"),
    file: "src/core/nodeclaim/drifted.ts",
    from: "if (hash === undefined || hash === pool.hash) return false;",
    to: 'if (hash !== "") return false;',
  },
  {
    name: "apart-only",
    without: "the budgets of the whole cluster",
    needs: ({ clusterBudgets }) => clusterBudgets.length > 0,
    file: "src/core/disruption/budgets.ts",
    from: "const mostOfAll = atOnceOf(clusterBudgets, all);",
    to: "const mostOfAll = atOnceOf([], all);",
  },
  {
    name: "kept-nodes-go",
    without: "do-not-disrupt on nodes",
    needs: brings("keep nodes"),
    file: "src/core/state/do-not-disrupt.ts",
    from: 'return claimGeneration(claim) === "v1" ? value === "true" : value !== undefined;',
    to: "return value === key;",
  },
  {
    name: "used-ones-too",
    without: "the policy WhenEmpty",
    needs: has(({ onlyEmpty }) => onlyEmpty),
    file: "src/core/disruption/consolidation.ts",
    from: '  return policy === "WhenEmpty"\n',
    to: '  return policy === "none"\n',
  },
  {
    name: "static-nodes-go",
    without: "that static pools keep their nodes, empty or not",
    needs: has(({ replicas = 0 }) => replicas > 0),
    file: "src/core/disruption/methods/emptiness.ts",
    from: "if (reschedulablePods.length > 0 || pool.replicas !== undefined) return undefined;",
    to: "if (reschedulablePods.length > 0) return undefined;",
    also: {
      file: "src/core/state/quiet.ts",
      from: 'if (consolidateAfter === "Never" || replicas !== undefined) return undefined;',
      to: 'if (consolidateAfter === "Never") return undefined;',
    },
  },
  {
    name: "at-once",
    without: "consolidateAfter",
    needs: has(({ quietMs }) => quietMs >= 120_000),
    file: "src/core/nodeclaim/empty.ts",
    from: 'return leftMs <= 0 ? { state: "set" }',
    to: 'return leftMs <= 0 || fromMs > 0 ? { state: "set" }',
  },
  {
    name: "hurried",
    without: "the length of terminationGracePeriod, pods are out of time at once",
    needs: has(({ manifests }) => JSON.stringify(manifests).includes("terminationGracePeriod")),
    file: "src/controllers/nodeclaim/lifecycle/finalize.ts",
    from: "const at = toRfc3339(deletedMs + graceMs);",
    to: "const at = toRfc3339(deletedMs);",
  },
  {
    name: "gone-when-expired",
    without: "that nodes of older generations are replaced before they expire",
    needs: has(({ expires, generation }) => expires && generation !== "v1"),
    file: "src/core/nodeclaim/expired.ts",
    from: 'return { mode: isReplacedFirst(pool, rules) ? "voluntary" : "forceful", atMs };',
    to: 'return { mode: "forceful", atMs };',
  },
  {
    name: "guards-apart",
    without: "that nodes of one command count on no eviction twice",
    file: "src/core/disruption/counters.ts",
    from: "if (before > 0 && before + count >",
    to: "if (before < 0 && before + count >",
    // On random days, protected pods are rarely on several nodes that could be removed together.
    loop: "guarded-one-by-one.yaml",
  },
  {
    name: "deaf",
    without: "the cloud's warning that it takes a spot instance back",
    needs: (story) =>
      story.flags["interruption-queue"] === undefined && brings("reclaim spot")(story),
    file: "src/providers/aws/interruption/reactions.ts",
    from: 'spot_interrupted: {\n    action: "CordonAndDrain",',
    to: 'spot_interrupted: {\n    action: "NoAction",',
  },
  {
    name: "undrained",
    without: "that nodes stay until their pods are elsewhere",
    file: "src/controllers/node/termination.ts",
    from: "deadlineMs: leaving.deadlineMs, pods: of });",
    to: "deadlineMs: leaving.deadlineMs, pods: of.slice(1_000) });",
  },
  {
    name: "unseen-go",
    without: "the look at the server for pods that no stream has brought",
    needs: brings("miss a pod"),
    file: "src/controllers/node/termination.ts",
    from: "if (unseen.waiting > 0) {",
    to: "if (unseen.waiting > 1_000) {",
  },
  {
    name: "chatters",
    without: "silence about what has been said a moment ago",
    file: "src/kube/events/recorder.ts",
    from: "if (known !== undefined && nowMs < known.untilMs) return;",
    to: "if (known !== undefined && nowMs < 0) return;",
  },
  {
    name: "stands-open",
    without: "that nodes close before they go",
    file: "src/controllers/disruption/command-queue.ts",
    from: "const closed = await changeObject(world.kube, NODE, node, (latest) => cordoned(latest, words));",
    to: "const closed = node;",
  },
  {
    name: "any-number",
    without: "the limit of nodes",
    needs: has(({ nodeLimit, replicas }) => nodeLimit !== undefined && replicas === undefined),
    file: "src/core/nodepool/limits.ts",
    from: "for (const name in limits) remaining[name] =",
    to: 'for (const name in limits) if (name !== "nodes") remaining[name] =',
  },
  {
    name: "gives-its-place",
    without: "that a node whose replacement goes keeps its place below the limits",
    needs: (story) =>
      brings("never join")(story) && has(({ cpuLimit }) => cpuLimit !== undefined)(story),
    file: "src/controllers/disruption/command-queue.ts",
    from: "world.cluster.replacedBy(names, replacements);",
    to: "",
  },
  {
    name: "any-saving",
    without: "the least that a replacement must save",
    file: "src/core/disruption/ledger.ts",
    from: "if (percent >= minSavingsPercent) return undefined;",
    to: "if (percent >= 0) return undefined;",
    also: NO_REST,
    loop: "saves-a-little.yaml",
  },
  {
    name: "planned-twice",
    without: "that pods wait for the node that is on its way to them",
    file: "src/controllers/provisioning/gather.ts",
    from: "nodes: cluster.nodes(),",
    to: "nodes: cluster.nodes().filter(({ initialized }) => initialized),",
    loop: "scale-up-and-shuffle.yaml",
  },
  {
    name: "no-back-off",
    without: "patience with pools whose replacements fail",
    file: "src/core/disruption/failed-pools.ts",
    from: "return { failures, untilMs: Math.ceil((nowMs + waitMs) / 1_000) * 1_000 };",
    to: "return { failures, untilMs: Math.ceil((nowMs + 0 * waitMs) / 1_000) * 1_000 };",
    loop: "out-of-stock.yaml",
  },
  {
    name: "lists-alone",
    without: "the look at the claim that an instance's Node names, whatever lists say",
    file: "src/controllers/ending/end-instance.ts",
    from: "if (owner !== undefined) {",
    to: "if (owner !== undefined && world === undefined) {",
    doubt: "mid-run",
  },
  {
    name: "seen-pods-alone",
    without: "the look at the server for pods of a node that was thought to be empty",
    file: "src/controllers/disruption/roll-back.ts",
    from: "if ((await reschedulablePodsNow(deps.world, candidate.node.name)).length === 0) return false;",
    to: "if (candidate !== undefined) return false;",
    doubt: "mid-run",
  },
];

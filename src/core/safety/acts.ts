/**
 * All acts that cannot be undone, with what must be proven before each. The code reads this table, and
 * docs/explanation/safety.md is generated from it. An act that is new in the code must first get a row here.
 */

/** Kinds of objects of which this process has a local copy (mirror) that watches keep up to date. */
export type ViewName = "pods" | "nodes" | "claims" | "pools";

/** An act that cannot be undone. */
export interface Act {
  /** The object that is deleted, terminated or rebooted. */
  readonly what: string;
  /**
   * The participle for messages, such as "rebooted". Absent: "terminated" for an instance, "deleted" for other objects.
   */
  readonly done?: string;
  /** The reason, as used in the text "delete NodeClaim: <why>". */
  readonly why: string;
  /** Who requested the act. If nobody did, a wrong view of the cluster may be the cause. */
  readonly askedBy: "a user" | "the cloud" | "the settings" | "nobody";
  /** The mirrors that must be proven to be up to date before the act. */
  readonly views: readonly ViewName[];
  /** The facts that are read from the API server or the cloud right before the act. */
  readonly proof: string;
  /**
   * Whether the act depends on the time of day. If so, it waits while the clocks of this process and of the API server
   * differ too much.
   */
  readonly byClock: boolean;
  /**
   * Whether the brake counts the act (brake.ts), unless the cloud says that the instance is already terminated. Only
   * acts that nobody requested are counted.
   */
  readonly braked: boolean;
  /**
   * The file and title of a test in which a part of the proof is missing. It shows that the act does not happen then.
   */
  readonly test: string;
}

/** Acts that delete a NodeClaim. */
export const CLAIM_ACTS = {
  nodeDeleted: {
    what: "NodeClaim",
    why: "its Node is being deleted",
    askedBy: "a user",
    views: [],
    proof:
      "the Node, read live by UID, has a deletionTimestamp, which nobody can remove; the claim is deleted by UID",
    byClock: false,
    braked: false,
    test: "src/controllers/ending/delete-claim.test.ts: is done by UID",
  },
  expired: {
    what: "NodeClaim",
    why: "it is older than its expireAfter",
    askedBy: "the settings",
    views: ["claims", "pools"],
    proof: "the claim, read live by UID, is older than its own expireAfter",
    byClock: true,
    braked: false,
    test: "test/safety.test.ts: a clock that is wrong",
  },
  disrupted: {
    what: "NodeClaim",
    why: "a disruption command replaces or removes its node",
    askedBy: "the settings",
    views: ["pods", "nodes", "claims", "pools"],
    proof:
      "the claim, read live by UID, still has the mark of this command; budgets allow the disruption; before the command begins, the pods of the nodes that will take its pods, listed live, are all known; if the node should be empty, no pod on it, listed live after it was tainted, would need another node; a drifted node is compared again right before the act, once its replacement is ready: it differs from its NodePool, or the cloud, asked by ID, proves a difference of image, subnet, security groups or reservation; a node that matches again is kept",
    byClock: false,
    braked: false,
    test: "src/controllers/disruption/disruption.test.ts: keeps and untaints an empty node if the API server has pods there that the mirror lacks",
  },
  staticScaleDown: {
    what: "NodeClaim",
    why: "its static NodePool has more nodes than replicas",
    askedBy: "a user",
    views: ["nodes", "claims", "pools"],
    proof: "the NodePool, read live by UID, still has so few replicas",
    byClock: false,
    braked: false,
    test: "src/controllers/ending/proofs.test.ts: keeps the nodes of a static pool",
  },
  launchFailed: {
    what: "NodeClaim",
    why: "the cloud could not launch it",
    askedBy: "the cloud",
    views: ["claims"],
    proof: "the claim, read live by UID, has no instance",
    byClock: false,
    braked: false,
    test: "src/controllers/ending/proofs.test.ts: keeps a NodeClaim to which another process gave an instance, even if its launch failed here",
  },
  launchTimeout: {
    what: "NodeClaim",
    why: "it was not launched in time",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "the claim, read live by UID, is not launched and names no instance. No pod ever ran there, so the brake does not count it",
    byClock: true,
    braked: false,
    test: "test/safety.test.ts: a clock that is wrong",
  },
  registrationTimeout: {
    what: "NodeClaim",
    why: "its node did not register in time",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "the claim, read live by UID, is not registered; of all Nodes, listed live, none belongs to it, except one that could not be written; no pod runs there that would need another node, so the brake does not count it",
    byClock: true,
    braked: false,
    test: "src/controllers/nodeclaim/lifecycle/lifecycle.test.ts: whose Node has joined and is not seen yet",
  },
  initializationTimeout: {
    what: "NodeClaim",
    why: "its node did not become usable in time",
    askedBy: "nobody",
    views: ["pods", "nodes", "claims"],
    proof:
      "the claim, read live by UID, is not initialized, and neither is its Node, listed live; no pod on that Node, listed live, would need another node",
    byClock: true,
    braked: true,
    test: "src/controllers/nodeclaim/lifecycle/lifecycle.test.ts: while pods run there that its mirror lacks",
  },
  unhealthy: {
    what: "NodeClaim",
    why: "its node reports a condition that node repair acts on",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "the Node, read live by UID, still reports a condition that repair acts on, also after its replacement is ready; with --legacy-node-repair: for long enough",
    byClock: true,
    braked: true,
    test: "src/controllers/ending/proofs.test.ts: keeps a node that has recovered",
  },
  rebootFailed: {
    what: "NodeClaim",
    why: "node repair asked for a reboot of its node, which failed or did not end in time",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "the claim, read live by UID, is still being rebooted; the cloud has refused the reboot for good or for five minutes, or no Ready Node with another boot ID was seen for 20 minutes, and none is found live, by name or in a list of all Nodes",
    byClock: true,
    braked: true,
    test: "src/controllers/nodeclaim/reboot.test.ts: replaces a node that does not come back",
  },
  impaired: {
    what: "NodeClaim",
    why: "EC2's status checks of its instance or its host have failed for two minutes",
    askedBy: "nobody",
    views: ["claims"],
    proof:
      "EC2 names the instance and the time since which its checks fail; the claim is read live by UID; its Node is drained if, read live, it is Ready. The checks of a whole region may be wrong, so the brake counts each",
    byClock: true,
    braked: true,
    test: "test/safety.test.ts: status checks that fail everywhere",
  },
  instanceGone: {
    what: "NodeClaim",
    why: "the cloud does not know its instance",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "the cloud, asked for the instance by its ID, reports it as terminated (not counted by the brake) or does not know it (counted); its Node and any Node that it owns, read live by name and in a live list of all Nodes, are not Ready",
    byClock: false,
    braked: true,
    test: "src/controllers/nodeclaim/garbage-collection.test.ts: takes turns, and deletes no claim that has become another or whose Node is Ready by then",
  },
  replacementUnused: {
    what: "NodeClaim",
    why: "it was made for a disruption command that was taken back",
    askedBy: "the settings",
    views: ["claims"],
    proof: "the claim, read live by UID, has no node",
    byClock: false,
    braked: false,
    test: "src/controllers/ending/proofs.test.ts: keeps a replacement whose Node has joined, even if its command was rolled back",
  },
} as const satisfies Readonly<Record<string, Act>>;

/** Reasons for which a claim is deleted. */
export type ClaimAct = keyof typeof CLAIM_ACTS;

/** Acts that terminate an instance or delete a Node. Each has its own function. */
export const INSTANCE_ACTS = {
  claimDeleted: {
    what: "instance and Node",
    why: "its NodeClaim is being deleted",
    askedBy: "a user",
    views: [],
    proof:
      "the claim, read live by UID unless this process has deleted it, has a deletionTimestamp; its CustomResourceDefinition, read live, is not itself being deleted, or an annotation confirms that; every Node of the claim is drained first. Nodes are looked up in the copy, else live by name, else in two live lists of all Nodes, from the API server's store and from its cache; if the claim names no instance, the cloud lists one of its pool and of this cluster's UID, launched in its time, that no claim names and that no claim waits for; no other claim and no other Node that stays belongs to the instance; its Node has a mark of Karpenter, and its own tags name this cluster and a pool, because a claim's status may be edited",
    byClock: false,
    braked: false,
    test: "test/safety.test.ts: the definition of NodeClaims is deleted",
  },
  reboot: {
    what: "instance",
    done: "rebooted",
    why: "its node reports a condition that node repair reboots for",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "before the node is tainted: the Node, read live by UID, has reported the condition for long enough; at that time, and again before the cloud is asked: the claim, read live by UID, is not being deleted, and nobody forbids the repair of the Node, read live by UID. If the second check fails, the node is untainted",
    byClock: true,
    braked: true,
    test: "src/controllers/nodeclaim/reboot.test.ts: is not done",
  },
  claimless: {
    what: "instance, after a drain of its Node",
    why: "its Node is being deleted and no NodeClaim stands for it",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "the Node, read live by UID, has a deletionTimestamp; the CustomResourceDefinition of claims, read live, exists and is not itself being deleted, or an annotation confirms that. Kubernetes itself deletes Nodes whose claims are gone, so the brake counts each",
    byClock: false,
    braked: true,
    test: "test/safety.test.ts: claims that are gone",
  },
  lateLaunch: {
    what: "instance",
    why: "the cloud launched it after its NodeClaim was given up",
    askedBy: "nobody",
    views: [],
    proof:
      "the claim, read live by UID, is gone or does not have Karpenter's finalizer; no Node of the instance is in the copy or in a live list of all Nodes",
    byClock: false,
    braked: false,
    test: "src/controllers/ending/late-launch.test.ts: an instance that came too late",
  },
  leaked: {
    what: "instance, and its Node after a drain",
    why: "no NodeClaim names it",
    askedBy: "nobody",
    views: ["nodes", "claims"],
    proof:
      "its tags have this cluster's name and the UID of kube-system, or this cluster has a Node of it; all claims, listed live, name other instances, and none waits for one; its Node is looked up in a live list of all Nodes, too. The claim that owns this Node, read live by name, is gone, or it is another claim by UID and belongs to another instance; if it has no Node, no pod of the copy is on the Node that the cloud names; it was without a claim for 30 s of elapsed time, and no claim of its pool that waited for an instance then still waits. If the cloud has accepted the termination and does not carry it out, it is asked again, and the brake does not count it again",
    byClock: false,
    braked: true,
    test: "test/safety.test.ts: ends nothing mid-run",
  },
} as const satisfies Readonly<Record<string, Act>>;

/** An act with its name, which is used in a metric's label and in events. */
export type NamedAct = Act & { readonly name: string };

/** The name of an act on an instance. */
export type InstanceAct = keyof typeof INSTANCE_ACTS;

/** The act of {@link INSTANCE_ACTS} with this name. */
export function instanceAct(name: InstanceAct): NamedAct {
  return { ...INSTANCE_ACTS[name], name };
}

/** The act of {@link CLAIM_ACTS} with this name. */
export function claimAct(name: ClaimAct): NamedAct {
  return { ...CLAIM_ACTS[name], name };
}

/**
 * Acts of the cloud providers. They are listed only for the generated page; the code of each provider checks its proof
 * itself.
 */
export const PROVIDER_ACTS: readonly Act[] = [
  {
    what: "NodeClaim (AWS)",
    why: "EC2 announces an interruption, a scheduled event or the end of a capacity block",
    askedBy: "the cloud",
    views: [],
    proof: "the message names the instance; the claim is deleted by UID",
    byClock: false,
    braked: false,
    test: "src/kube/client/delete-same.test.ts: leaves another object of that name",
  },
  {
    what: "launch template (AWS)",
    why: "no launch used it for five minutes, or its EC2NodeClass is deleted",
    askedBy: "nobody",
    views: [],
    proof:
      "EC2, asked by its name, says that it has this cluster's tag and not another cluster's UID. The next launch creates it again, so the brake does not count it",
    byClock: false,
    braked: false,
    test: "src/providers/aws/provider.test.ts: leaves a launch template that another cluster has made",
  },
  {
    what: "instance profile (AWS)",
    why: "its EC2NodeClass is deleted, or names another role and no claim has the profile",
    askedBy: "a user",
    views: ["claims"],
    proof:
      "no claim, listed live, names the class; the profile does not have another cluster's UID; EC2, asked for instances with its ARN, knows none that is not terminated",
    byClock: false,
    braked: false,
    test: "src/providers/aws/provider.test.ts: waits for its claims, then removes profile",
  },
  {
    what: "Node (kwok)",
    why: "its claim ends, as above: the Node is the instance",
    askedBy: "a user",
    views: [],
    proof: "as for the instance; the Node is deleted by UID",
    byClock: false,
    braked: false,
    test: "src/kube/client/delete-same.test.ts: leaves another object of that name",
  },
];

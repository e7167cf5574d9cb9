/** `karpenter migrate`: the move from another autoscaler to this one. */
import { Command, Option } from "commander";
import type { MigrateCheckFlags } from "../migrate/run-check.ts";
import type { FromAutoscalerFlags } from "../migrate/run-from-autoscaler.ts";
import type { HandoverFlags } from "../migrate/run-handover.ts";
import { withExamples } from "../program/help.ts";

/** `karpenter migrate`, with its commands. */
export function migrateCommand(): Command {
  const command = new Command("migrate").description(
    "Move a cluster here from Karpenter in Go or from Cluster Autoscaler.",
  );
  command.addCommand(migrateCheckCommand());
  command.addCommand(handoverCommand());
  command.addCommand(fromAutoscalerCommand());
  return command;
}

/** `karpenter migrate check`. Exit code 0: ready; 2: something must be done or read; 1: bad input. Exported for tests. */
export function migrateCheckCommand(): Command {
  const command = new Command("check")
    .description(
      "Say what is ready, what would drift, what differs and what to do before karpenter-ts takes the cluster over. It only reads.",
    )
    .optionsGroup("Input:")
    .option("--values <file>", "values of the chart in use: helm get values karpenter -o yaml")
    .option("--policy <file...>", "IAM policies of the controller, as JSON documents")
    .optionsGroup("Output:")
    .addOption(
      new Option("-o, --output <format>", "text for people; json for programs")
        .choices(["text", "json"])
        .default("text"),
    )
    .allowExcessArguments(false)
    .action(async (flags: MigrateCheckFlags) => {
      const { runMigrateCheck } = await import("../migrate/run-check.ts");
      process.exitCode = await runMigrateCheck(flags);
    });
  return withExamples(
    command,
    ["karpenter migrate check", "the cluster that KUBECONFIG names"],
    [
      "karpenter migrate check --values values.yaml --policy policy.json -o json",
      "with the chart's values and the IAM policy, for a program",
    ],
  );
}

/**
 * `karpenter migrate handover`. Exit code 0: the new controller leads; 2: something blocks it. Exported for tests.
 */
export function handoverCommand(): Command {
  const command = new Command("handover")
    .description(
      "Scale one Karpenter's Deployment down, wait until its lease is free, and let another one lead. Nodes and pods stay.",
    )
    .optionsGroup("Input:")
    .requiredOption("--from <namespace/name>", "Deployment that leads now; it is scaled to 0")
    .requiredOption(
      "--to <namespace/name>",
      "Deployment that leads next, installed with replicas=0",
    )
    .option("--replicas <count>", "replicas of the next one, if it has none", "2")
    .optionsGroup("Limits:")
    .option(
      "--timeout <duration>",
      "longest wait for the end of one and the lead of the other",
      "2m",
    )
    .option(
      "--force",
      "hand over although karpenter migrate check finds something to do, or could not read all",
    )
    .allowExcessArguments(false)
    .action(async (flags: HandoverFlags) => {
      const { runHandover } = await import("../migrate/run-handover.ts");
      await runHandover(flags);
    });
  return withExamples(
    command,
    [
      "karpenter migrate handover --from kube-system/karpenter --to kube-system/karpenter-ts",
      "from Karpenter in Go to karpenter-ts",
    ],
    [
      "karpenter migrate handover --from kube-system/karpenter-ts --to kube-system/karpenter",
      "and back again",
    ],
  );
}

/** `karpenter migrate from-cluster-autoscaler`. Exported for tests. */
export function fromAutoscalerCommand(): Command {
  const command = new Command("from-cluster-autoscaler")
    .description(
      "Draft a NodePool for each node group, and say what both cost. Nothing is applied.",
    )
    .optionsGroup("Input:")
    .option("-f, --filename <path...>", "objects of the cluster, instead of the current cluster")
    .option("--groups <file>", "what aws autoscaling describe-auto-scaling-groups prints")
    .optionsGroup("What the drafts say:")
    .requiredOption("--cluster-name <name>", "name of the cluster, by which subnets are tagged")
    .option("--role <name>", "IAM role of nodes (default: KarpenterNodeRole-<cluster name>)")
    .optionsGroup("Prices:")
    .option("--region <name>", "AWS region; default: that of the nodes' zones")
    .allowExcessArguments(false)
    .action(async (flags: FromAutoscalerFlags) => {
      const { runFromAutoscaler } = await import("../migrate/run-from-autoscaler.ts");
      await runFromAutoscaler(flags);
    });
  return withExamples(
    command,
    [
      "karpenter migrate from-cluster-autoscaler --cluster-name prod > nodepools.yaml",
      "by the labels of the current cluster's nodes",
    ],
    [
      "karpenter migrate from-cluster-autoscaler --cluster-name prod --groups groups.json",
      "with sizes, spot shares and tags of the Auto Scaling groups",
    ],
  );
}

/**
 * Faults of EC2 and of other users of its account; work-stage.ts plays them. Terminations do nothing, states of
 * instances go backwards, tags and launch templates are removed, and fleets launch other types than requested.
 */
import type { CloudFault } from "../replicas.ts";
import { eachInstance } from "./odd-faults.ts";
import type { MakeFault, WorkFault, WorkScene } from "./work-stage.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Faults by title. Each is created again for each cluster. */
export const CLOUD_FAULTS: Readonly<Record<string, MakeFault>> = {
  "EC2 accepts terminations and does nothing": () => ({
    ...calls("ec2.terminateInstances", async (input) => ({
      TerminatingInstances: (input as { InstanceIds: readonly string[] }).InstanceIds.map(
        (InstanceId) => ({
          InstanceId,
          CurrentState: { Name: "shutting-down" },
          PreviousState: { Name: "running" },
        }),
      ),
    })),
    lastsMs: 12 * MINUTE,
  }),
  "EC2's descriptions are of half a minute ago": ({ world }) => {
    const past: { readonly atMs: number; readonly answer: unknown; readonly key: string }[] = [];
    return calls("ec2.describeInstances", async (input, go) => {
      const key = JSON.stringify(input);
      past.push({ atMs: world.clock.now(), answer: await go(), key });
      const old = past.find((one) => one.key === key && one.atMs >= world.clock.now() - MINUTE / 2);
      return old?.answer;
    });
  },
  "states of instances go backwards at every second answer": () => {
    let answers = 0;
    return calls("ec2.describeInstances", async (_, go) => {
      const answer = await go();
      const Name = ["pending", "stopping", "running"][answers % 3];
      return answers++ % 2 === 0
        ? answer
        : eachInstance(answer, (one) => ({ ...one, State: { Name } }));
    });
  },
  "EC2 answers for another account at every second call": () => {
    let answers = 0;
    return calls("ec2.describeInstances", async (_, go) =>
      answers++ % 2 === 0 ? go() : { Reservations: [] },
    );
  },
  "a cleaner takes Karpenter's tags off all instances": (scene) => untagged(scene, /karpenter/),
  "a cleaner takes all tags off all instances": (scene) => untagged(scene, /./),
  "a cleaner deletes launch templates before each fleet": ({ world }) =>
    calls("ec2.createFleet", async (_, go) => {
      const { launchTemplates } = world.box.sandbox.aws.state;
      launchTemplates.clear();
      return go();
    }),
  "EC2 launches other types than asked": ({ world }) =>
    calls("ec2.createFleet", async (_, go) => {
      const answer = (await go()) as { readonly Instances: readonly Group[] };
      const { instances } = world.box.sandbox.aws.state;
      for (const { InstanceIds } of answer.Instances)
        for (const id of InstanceIds)
          Object.assign(instances.get(id) ?? {}, { type: "r6g.16xlarge" });
      const Instances = answer.Instances.map((one) => ({ ...one, InstanceType: "r6g.16xlarge" }));
      return { ...answer, Instances };
    }),
  "EC2 launches types that nobody knows": () =>
    calls("ec2.createFleet", async (_, go) => {
      const answer = (await go()) as { readonly Instances: readonly Group[] };
      return {
        ...answer,
        Instances: answer.Instances.map((one) => ({ ...one, InstanceType: "x9.mystery" })),
      };
    }),
};

interface Group {
  readonly InstanceIds: readonly string[];
}

/** A fault that answers calls of this name by `answer`. `go` makes the real call. */
function calls(
  name: string,
  answer: (input: unknown, go: () => Promise<unknown>) => Promise<unknown>,
): WorkFault {
  const cloudFault: CloudFault = (call, input, go) => (call === name ? answer(input, go) : go());
  return { met: { cloudFault } };
}

/** Every ten seconds, instances lose the tags whose keys match. At the end of the fault the tags are restored. */
function untagged({ world }: WorkScene, keys: RegExp): WorkFault {
  const { tags, instances } = world.box.sandbox.aws.state;
  const taken = new Map<string, Map<string, string>>();
  return {
    during: () => {
      for (const id of instances.keys())
        for (const [key, value] of [...(tags.get(id) ?? [])]) {
          if (!keys.test(key)) continue;
          tags.get(id)?.delete(key);
          taken.set(id, (taken.get(id) ?? new Map()).set(key, value));
        }
    },
    end: () => {
      for (const [id, all] of taken) for (const [key, value] of all) tags.get(id)?.set(key, value);
    },
  };
}

/**
 * Every NodeClaim and every Node that a cluster ever had, collected by watches. A second launch that was corrected
 * soon shows here, but not in a look at the end.
 */
import { NODE, type Node } from "../../src/apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { Kind, KubeObject } from "../../src/apis/meta.ts";
import { SILENT } from "../../src/base/log.ts";
import { Random } from "../../src/base/random.ts";
import { SystemClock } from "../../src/base/system-clock.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { reflect } from "../../src/kube/mirror/watch.ts";

export interface Launches {
  /** How many claims were made since the last `forget`. */
  readonly claims: number;
  /** How many claims and Nodes exist, as far as the watches know. */
  readonly living: number;
  /** One sentence for each claim with two machines and each machine without a claim. */
  faults(): readonly string[];
  /** Forgets the claims and Nodes so far. Only called when none exists. */
  forget(): void;
  close(): void;
}

/** Follows claims and Nodes with these labels; by default all. */
export function followLaunches(client: KubeClient, labelSelector?: string): Launches {
  const claims = new Map<string, NodeClaim>();
  const nodes = new Map<string, Node>();
  const follow = <T extends KubeObject>(kind: Kind<T>, into: Map<string, T>) => {
    const living = new Set<string>();
    const put = (object: T) => {
      const { uid = "" } = object.metadata;
      into.set(uid, object);
      living.add(uid);
    };
    const reflection = reflect({
      client,
      kind,
      labelSelector,
      clock: new SystemClock(),
      random: new Random("launches"),
      log: SILENT,
      onList: ({ items }) => {
        // Objects deleted while the watch was broken have no DELETED event.
        living.clear();
        items.forEach(put);
      },
      onEvent: ({ type, object }) => {
        if (type === "DELETED") living.delete(object.metadata.uid ?? "");
        else put(object);
      },
    });
    return { reflection, living };
  };
  const followed = [follow(NODE_CLAIM, claims), follow(NODE, nodes)];
  return {
    get claims() {
      return claims.size;
    },
    get living() {
      return followed.reduce((sum, { living }) => sum + living.size, 0);
    },
    faults: () => {
      const names = [...claims.values()].map(({ metadata }) => metadata.name);
      const machines = [...nodes.values()].map(({ metadata }) => metadata.name);
      // The name of a kwok machine begins with that of its claim.
      const of = (claim: string) => machines.filter((name) => name.startsWith(`${claim}-`));
      return [
        ...names
          .filter((name) => of(name).length > 1)
          .map((name) => `${name} was launched as ${of(name).join(" and ")}`),
        ...machines
          .filter((machine) => !names.some((name) => machine.startsWith(`${name}-`)))
          .map((machine) => `${machine} is nobody's`),
      ];
    },
    forget: () => {
      claims.clear();
      nodes.clear();
    },
    close: () => {
      for (const { reflection } of followed) reflection.close();
    },
  };
}

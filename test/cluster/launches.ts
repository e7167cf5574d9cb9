/**
 * Every NodeClaim and every Node that a cluster has ever seen, by its watches: what was launched twice and
 * mended before anybody looked is found here, where a look at the end would find all in order.
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
  /** How many claims and Nodes are there as far as the watches know. */
  readonly living: number;
  /** In words: claims with two machines, machines of no claim. */
  faults(): readonly string[];
  /** Begins anew; for when nothing lives. */
  forget(): void;
  close(): void;
}

/** Of those with the labels; by default of all. */
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
        // What went while nobody watched has no event.
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
      // A kwok machine is called after its claim.
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

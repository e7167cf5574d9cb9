/** Hides objects from the mirrors of a fake world, as if a watch had lost them. Direct requests still return them. */
import type { Kind, KubeObject } from "../apis/meta.ts";
import type { Watch } from "../kube/client/client.ts";
import type { FakeWorld } from "./fake-world.ts";

/**
 * Hides the named objects from lists and watches. Call it before the world runs. Without names, all objects are visible
 * again.
 */
export function unseenByMirrors({ api }: FakeWorld, of: Kind, ...names: readonly string[]): void {
  const own = originals.get(api) ?? { list: api.list, watch: api.watch };
  originals.set(api, own);
  const isSeen = ({ metadata }: KubeObject) => !names.includes(metadata.name);
  Object.assign(api, {
    list: async (...call: Parameters<typeof api.list>) => {
      const all = await own.list(...call);
      return call[0] === of ? { ...all, items: all.items.filter(isSeen) } : all;
    },
    watch: async (...call: Parameters<typeof api.watch>) => {
      const stream = await own.watch(...call);
      return call[0] === of ? only(stream, isSeen) : stream;
    },
  });
}

const originals = new WeakMap<object, Pick<FakeWorld["api"], "list" | "watch">>();

function only(
  stream: Watch<KubeObject>,
  isSeen: (object: KubeObject) => boolean,
): Watch<KubeObject> {
  return {
    close: () => stream.close(),
    async *[Symbol.asyncIterator]() {
      for await (const event of stream) if (isSeen(event.object)) yield event;
    },
  };
}

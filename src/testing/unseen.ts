/** Objects that the API server has and that no list or watch of a fake world's mirrors brings. Requests see them. */
import type { Kind, KubeObject } from "../apis/meta.ts";
import type { Watch } from "../kube/client/client.ts";
import type { FakeWorld } from "./fake-world.ts";

/** Call it before the world runs; without names everything is seen again. */
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

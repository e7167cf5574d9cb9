/**
 * Lists of the objects that selector terms match: subnets, security groups, images and capacity reservations. EC2's
 * list may be short. So EC2 is asked by ID for each object that was selected before and that the list lacks. The object
 * is no longer selected if EC2 says that it does not exist, or describes it so that it does not match. If EC2 does not
 * answer about an object that this process saw selected, it stays selected for an hour at most; an image does not.
 * Before a node drifts, EC2 is asked by ID for the objects that the node has or should have.
 */
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import type { Filter } from "../api/call.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { AnswersById, type ById, type ByIdKind } from "./by-id.ts";
import { type FilteredObject, fits, passes } from "./passes.ts";

/** Milliseconds for which an object stays selected that EC2 neither lists nor describes. */
const DOUBTED_MS = 3_600_000;
/** The most IDs in the status of a class for which EC2 is asked. Users can edit a status, so the number is limited. */
const MAX_KNOWN = 200;

/** One query of a selector. An object is selected if it matches one of the selector's queries. */
export interface SelectorQuery {
  readonly Filters: readonly Filter[];
  /** Images: account IDs, `self`, `amazon`. Absent: any owner. */
  readonly Owners?: readonly string[];
  /** The only IDs that match. Absent: any ID. */
  readonly ids?: readonly string[];
}

/** One kind of object: how EC2 is asked for it, and the fields that filters read. */
export interface ListedKind<T> extends ByIdKind<T> {
  /** EC2's filter by ID, such as `subnet-id`. Undefined: EC2 has none for the kind. */
  readonly idFilter: string | undefined;
  /** Whether an object stays selected for an hour that EC2 neither lists nor describes any more. */
  readonly staysUnanswered: boolean;
  filterable(one: T): FilteredObject;
  list(query: SelectorQuery): Promise<readonly T[]>;
  /** The ID of the account, for the owner `self`. Undefined: it is not known. */
  account?(): Promise<string | undefined>;
}

/**
 * What is proven about an object and a selector.
 * - `selected`: EC2 describes it by ID, and it matches a query.
 * - `refused`: EC2 describes it by ID, it matches no query, and no list contains it.
 * - `unknown`: EC2 says that there is no object with this ID, and no list contains it.
 * - `excluded`: EC2 does not describe it, but no query allows its ID.
 * - `unanswered`: EC2 neither lists nor describes it, and does not say that it does not exist.
 * - `doubted`: EC2's list and its answer by ID contradict each other. Or a query needs the ID of the account, which is
 *   not known.
 */
export type ProofVerdict =
  | "selected"
  | "refused"
  | "unknown"
  | "excluded"
  | "unanswered"
  | "doubted";

/** What is proven about an ID, and the object as EC2 describes it by ID. */
export interface Proof<T> {
  readonly verdict: ProofVerdict;
  readonly one: T | undefined;
}

/** A selector: its queries, and the list that EC2 answered. */
interface View<T> {
  readonly key: string;
  readonly queries: readonly SelectorQuery[];
  readonly listed: ReadonlyMap<string, T>;
}

/** EC2's answers by ID, and the ID of the account, if a query needs it. */
interface Answers<T> {
  readonly byId: ReadonlyMap<string, ById<T>>;
  readonly account: string | undefined;
}

/** What this process knows about a selector. */
interface Memory<T> {
  /** The selected objects, sorted by ID, and the list that they were made from. */
  members: readonly T[];
  byId: ReadonlyMap<string, T>;
  listed: View<T>["listed"] | undefined;
  /** Objects that the list lacked and a warning named. The value: since when they are without an answer by ID. */
  readonly lackedMs: Map<string, number | undefined>;
  usedMs: number;
}

/** The dependencies of {@link ProvenLists}. */
export interface ProvenListsDeps<T> {
  readonly kind: ListedKind<T>;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a list, and an answer by ID, are kept. */
  readonly refreshMs: number;
}

/** The selected objects of one kind, for each selector. */
export class ProvenLists<T> {
  readonly #kind: ListedKind<T>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #told: StandingProblems;
  readonly #views: TtlCache<View<T>>;
  readonly #byId: AnswersById<T>;
  readonly #memories = new Map<string, Memory<T>>();

  constructor(deps: ProvenListsDeps<T>) {
    const { kind, clock, log, refreshMs } = deps;
    this.#kind = kind;
    this.#clock = clock;
    this.#log = log;
    this.#told = new StandingProblems(log, clock);
    this.#views = new TtlCache(clock, refreshMs);
    this.#byId = new AnswersById(deps);
  }

  /**
   * The selected objects, by ID. The same array while nothing changes. `known`: IDs of objects that were selected
   * before. Rejects if EC2 does not answer.
   */
  async list(queries: readonly SelectorQuery[], known: readonly string[]): Promise<readonly T[]> {
    const view = await this.#view(queries);
    const lacking = this.#lacking(view, known);
    const memory = this.#memory(view.key);
    if (lacking.length === 0 && memory.listed === view.listed) return memory.members;
    return this.#settle(view, known, await this.#ask(queries, lacking));
  }

  /** Asks EC2 for each of the objects by ID, and says what is proven. Rejects if EC2 does not answer. */
  async prove(
    queries: readonly SelectorQuery[],
    known: readonly string[],
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Proof<T>>> {
    const view = await this.#view(queries);
    const all = [...new Set([...ids, ...known])];
    const answers = await this.#ask(queries, [...ids, ...this.#lacking(view, known)]);
    const proofs = new Map(ids.map((id) => [id, this.#proof(view, answers, id)]));
    // An object that is selected although the list lacks it is added to the selected objects.
    this.#settle(view, all, answers);
    return proofs;
  }

  #proof({ key, queries, listed }: View<T>, answers: Answers<T>, id: string): Proof<T> {
    const answer = answers.byId.get(id);
    const isListed = listed.has(id);
    if (answer === undefined && isListed) return { verdict: "doubted", one: undefined };
    if (answer === undefined) {
      const mayBe = mayMatch(queries, id, this.#kind.idFilter);
      return { verdict: mayBe ? "unanswered" : "excluded", one: undefined };
    }
    if (answer === "unknown") return { verdict: isListed ? "doubted" : "unknown", one: undefined };
    const isSelected = (wasSelected: boolean): boolean =>
      this.#matches(queries, answer, { ...answers, wasSelected });
    if (isSelected(isListed || this.#memory(key).byId.has(id)))
      return { verdict: "selected", one: answer };
    // While the account is not known, the object may belong to it and match a query.
    return { verdict: isListed || isSelected(true) ? "doubted" : "refused", one: answer };
  }

  /** IDs of objects that were selected before and that the list lacks. */
  #lacking({ key, queries, listed }: View<T>, known: readonly string[]): readonly string[] {
    const memory = this.#memory(key);
    const { byId } = memory;
    const isLacking = (id: string): boolean =>
      !listed.has(id) && mayMatch(queries, id, this.#kind.idFilter);
    // If the selected objects were made from this list alone, the list has all of them.
    const isWhole = memory.listed === listed && memory.lackedMs.size === 0;
    const ofMemory = isWhole ? [] : [...byId.keys()].filter(isLacking);
    const others = known.filter((id) => !byId.has(id) && isLacking(id));
    return [...ofMemory, ...others.slice(0, MAX_KNOWN)];
  }

  /**
   * The selected objects, according to the list and the answers. Nothing else runs between the reading of the memory
   * and its change, so two callers at the same time do not undo each other's changes.
   */
  #settle(view: View<T>, known: readonly string[], answers: Answers<T>): readonly T[] {
    const { idOf } = this.#kind;
    const memory = this.#memory(view.key);
    const added = new Map<string, T>();
    for (const id of this.#lacking(view, known)) {
      const one = this.#kept(view, answers, id);
      if (one !== undefined) added.set(id, one);
    }
    for (const id of memory.lackedMs.keys()) {
      if (added.has(id)) continue;
      memory.lackedMs.delete(id);
      this.#told.over(`${view.key} ${id}`);
    }
    const all = [...view.listed.values(), ...added.values()].sort((a, b) =>
      idOf(a) < idOf(b) ? -1 : 1,
    );
    memory.listed = view.listed;
    if (all.length === memory.members.length && all.every((one, at) => one === memory.members[at]))
      return memory.members;
    memory.members = all;
    memory.byId = new Map(all.map((one) => [idOf(one), one]));
    return all;
  }

  /** The object that the list lacks. Undefined: it is not selected any more. */
  #kept({ key, queries }: View<T>, answers: Answers<T>, id: string): T | undefined {
    const { plural, staysUnanswered } = this.#kind;
    const { byId, lackedMs } = this.#memory(key);
    const before = byId.get(id);
    // Another caller has just added it, with an answer of its own.
    if (!answers.byId.has(id)) return before;
    const answer = answers.byId.get(id);
    if (answer === "unknown") return undefined;
    const nowMs = this.#clock.elapsedMs();
    const warn = (message: string, sinceMs?: number): void => {
      lackedMs.set(id, sinceMs);
      if (this.#told.isNews(`${key} ${id}`, message)) this.#log.warn(message, { id });
    };
    if (answer !== undefined) {
      if (!this.#matches(queries, answer, { ...answers, wasSelected: before !== undefined }))
        return undefined;
      warn(
        `EC2's list of ${plural} lacks one that EC2 describes by ID and that the selector matches; it stays selected`,
      );
      return answer;
    }
    if (before === undefined || !staysUnanswered) return undefined;
    const sinceMs = lackedMs.get(id) ?? nowMs;
    if (nowMs - sinceMs >= DOUBTED_MS) return undefined;
    warn(
      `EC2 neither lists nor describes one of the ${plural} that were selected, and does not say that it is gone; it stays selected for an hour`,
      sinceMs,
    );
    return before;
  }

  /** What is known about the selector. Selectors that were not used for an hour are forgotten. */
  #memory(key: string): Memory<T> {
    const nowMs = this.#clock.elapsedMs();
    let memory = this.#memories.get(key);
    if (memory === undefined) {
      for (const [one, { usedMs, lackedMs }] of this.#memories) {
        if (nowMs - usedMs <= DOUBTED_MS) continue;
        this.#memories.delete(one);
        for (const id of lackedMs.keys()) this.#told.over(`${one} ${id}`);
      }
      memory = { members: [], byId: new Map(), listed: undefined, lackedMs: new Map(), usedMs: 0 };
      this.#memories.set(key, memory);
    }
    memory.usedMs = nowMs;
    return memory;
  }

  #matches(queries: readonly SelectorQuery[], one: T, facts: OwnerFacts): boolean {
    const { idOf, filterable } = this.#kind;
    return queries.some(
      ({ Filters, Owners, ids }) =>
        (ids?.includes(idOf(one)) ?? true) &&
        passes(Filters, filterable(one)) &&
        isOwnedBy(Owners, filterable(one), facts),
    );
  }

  async #ask(queries: readonly SelectorQuery[], ids: readonly string[]): Promise<Answers<T>> {
    const isOwn = ids.length > 0 && queries.some(({ Owners }) => Owners?.includes("self"));
    const [byId, account] = await Promise.all([
      this.#byId.ask(ids),
      isOwn ? this.#kind.account?.() : undefined,
    ]);
    return { byId, account };
  }

  #view(queries: readonly SelectorQuery[]): Promise<View<T>> {
    const key = canonicalJson(queries);
    return this.#views.get(key, async () => {
      const answers = await Promise.all(queries.map((one) => this.#kind.list(one)));
      const listed = new Map(answers.flat().map((one) => [this.#kind.idOf(one), one]));
      return { key, queries, listed };
    });
  }
}

/** The facts that decide whether the owner `self` has an object. */
interface OwnerFacts {
  readonly account: string | undefined;
  readonly wasSelected: boolean;
}

/** Whether an object with this ID can be selected, whatever its properties. */
function mayMatch(
  queries: readonly SelectorQuery[],
  id: string,
  idFilter: string | undefined,
): boolean {
  return queries.some(
    ({ Filters, ids }) =>
      (ids?.includes(id) ?? true) &&
      Filters.every(
        ({ Name, Values }) => Name !== idFilter || Values.some((pattern) => fits(pattern, id)),
      ),
  );
}

/**
 * Whether one of the owners has the object. While the account is not known, `self` has only the objects that were
 * selected before, because EC2 listed them for the owner `self`.
 */
function isOwnedBy(
  owners: readonly string[] | undefined,
  { fields }: FilteredObject,
  { account, wasSelected }: OwnerFacts,
): boolean {
  if (owners === undefined) return true;
  const { "owner-id": id, "owner-alias": alias } = fields;
  return owners.some((owner) => {
    if (owner !== "self") return owner === id || owner === alias;
    return account === undefined ? wasSelected : id === account;
  });
}

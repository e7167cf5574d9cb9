/**
 * Lists of what selector terms match, for subnets, security groups, images and capacity reservations. EC2's list may be
 * short. So an object that was selected before is asked for by its ID if the list lacks it. It leaves only if EC2 says
 * that it does not exist, or describes it so that it fails the terms. Otherwise it stays selected, for an hour at most.
 * Before a node drifts, EC2 is asked in the same way for the objects that the node has or should have. Answers by ID
 * are kept as long as the list.
 */
import type { Clock } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { StandingProblems } from "../../../base/standing-problems.ts";
import type { Filter } from "../api/call.ts";
import type { Batcher } from "../batch/batcher.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { type ById, createById } from "./by-id.ts";
import { type FilteredObject, fits, passes } from "./passes.ts";

/** Milliseconds for which an object stays selected that EC2 neither lists nor describes. */
const DOUBTED_MS = 3_600_000;

/** One question of a selector. An object is selected if it answers one of the selector's questions. */
export interface SelectorQuestion {
  readonly Filters: readonly Filter[];
  /** Images: account IDs, `self`, `amazon`. Absent: any owner. */
  readonly Owners?: readonly string[];
  /** The only IDs that the question is about. Absent: all. */
  readonly ids?: readonly string[];
}

/** One kind of object: how EC2 is asked for it, and what filters see of it. */
export interface Kind<T> {
  /** The plural for the log, such as `subnets`. */
  readonly plural: string;
  /** EC2's filter by ID, such as `subnet-id`. Undefined: EC2 has none for the kind. */
  readonly idFilter: string | undefined;
  idOf(one: T): string;
  filterable(one: T): FilteredObject;
  list(question: SelectorQuestion): Promise<readonly T[]>;
  /** Rejects with EC2's error if there is no object with one of the IDs. */
  byId(ids: readonly string[]): Promise<readonly T[]>;
}

/** Objects that were selected before, by ID. Undefined: only the ID is known. */
export type SelectedOnce<T> = ReadonlyMap<string, T | undefined>;

/**
 * What is proven about an object and a selector.
 * - `selected`: EC2 describes it by ID, and it answers a question.
 * - `refused`: EC2 describes it by ID, it answers none, and no list contains it.
 * - `unknown`: EC2 says that there is none with this ID, and no list contains it.
 * - `excluded`: EC2 does not describe it, but all questions are about other IDs.
 * - `doubted`: EC2 does not describe it, or its list and its description contradict each other.
 */
export type Verdict = "selected" | "refused" | "unknown" | "excluded" | "doubted";

/** What is proven about an ID, and the object as EC2 describes it by ID. */
export interface Proof<T> {
  readonly verdict: Verdict;
  readonly one: T | undefined;
}

interface View<T> {
  readonly listed: ReadonlyMap<string, T>;
  /** EC2's answers by ID. */
  readonly asked: Map<string, ById<T>>;
  members: readonly T[];
}

/** The dependencies of {@link ProvenLists}. */
export interface ProvenListsDeps<T> {
  readonly kind: Kind<T>;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a list is kept. */
  readonly refreshMs: number;
}

/** The selected objects of one kind, for each selector. */
export class ProvenLists<T> {
  readonly #kind: Kind<T>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #told: StandingProblems;
  readonly #views: TtlCache<View<T>>;
  readonly #byId: Batcher<string, ById<T>>;
  /** The last members of each selector, and when they were last asked for. */
  readonly #last = new Map<string, { readonly members: readonly T[]; readonly atMs: number }>();
  /** Since when EC2 neither lists nor describes an object that was selected, by selector and ID. */
  readonly #doubtedMs = new Map<string, number>();

  constructor({ kind, clock, log, refreshMs }: ProvenListsDeps<T>) {
    this.#kind = kind;
    this.#clock = clock;
    this.#log = log;
    this.#told = new StandingProblems(log, clock);
    this.#views = new TtlCache(clock, refreshMs);
    this.#byId = createById(clock, (ids) => kind.byId(ids), kind.idOf);
  }

  /** The selected objects, by ID. The same array while nothing changes. `known`: objects that were selected before. */
  async list(
    questions: readonly SelectorQuestion[],
    known: SelectedOnce<T>,
  ): Promise<readonly T[]> {
    const key = canonicalJson(questions);
    const view = await this.#views.get(key, () => this.#read(questions));
    const before = new Map(known);
    for (const one of this.#last.get(key)?.members ?? []) before.set(this.#kind.idOf(one), one);
    const lacking = [...before.keys()].filter(
      (id) => !view.listed.has(id) && mayAnswer(questions, id, this.#kind.idFilter),
    );
    await this.#ask(view, lacking);
    const added = lacking.flatMap((id) => this.#kept(questions, view, { id, key, before }));
    for (const id of view.listed.keys()) this.#doubtedMs.delete(`${key} ${id}`);
    view.members = membersOf(view, added, this.#kind.idOf);
    this.#remember(key, view.members);
    return view.members;
  }

  /** Asks EC2 for each of the objects by ID, and says what is proven. */
  async prove(
    questions: readonly SelectorQuestion[],
    known: SelectedOnce<T>,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Proof<T>>> {
    await this.list(questions, known);
    const key = canonicalJson(questions);
    const view = await this.#views.get(key, () => this.#read(questions));
    await this.#ask(view, ids);
    // An object that the list lacks, although it is selected, joins the members.
    await this.list(questions, new Map([...ids.map((id) => [id, undefined] as const), ...known]));
    return new Map(ids.map((id) => [id, this.#proof(questions, view, id)]));
  }

  #proof(questions: readonly SelectorQuestion[], { listed, asked }: View<T>, id: string): Proof<T> {
    const answer = asked.get(id);
    const isListed = listed.has(id);
    if (answer === undefined) {
      const mayBe = isListed || mayAnswer(questions, id, this.#kind.idFilter);
      return { verdict: mayBe ? "doubted" : "excluded", one: undefined };
    }
    if (answer === "unknown") return { verdict: isListed ? "doubted" : "unknown", one: undefined };
    if (this.#answersOne(questions, answer)) return { verdict: "selected", one: answer };
    return { verdict: isListed ? "doubted" : "refused", one: answer };
  }

  /** The object that the list lacks, as a list: empty if it is not selected any more. */
  #kept(
    questions: readonly SelectorQuestion[],
    view: View<T>,
    { id, key, before }: { id: string; key: string; before: SelectedOnce<T> },
  ): readonly T[] {
    const { plural } = this.#kind;
    const answer = view.asked.get(id);
    const place = `${key} ${id}`;
    if (answer !== undefined) {
      this.#doubtedMs.delete(place);
      if (answer === "unknown" || !this.#answersOne(questions, answer)) return [];
      this.#warn(
        place,
        `EC2's list of ${plural} lacks one that EC2 describes by ID and that the selector matches; it stays selected`,
        id,
      );
      return [answer];
    }
    const one = before.get(id);
    if (one === undefined) return [];
    const nowMs = this.#clock.elapsedMs();
    const sinceMs = this.#doubtedMs.get(place) ?? nowMs;
    this.#doubtedMs.set(place, sinceMs);
    if (nowMs - sinceMs >= DOUBTED_MS) return [];
    this.#warn(
      place,
      `EC2 neither lists nor describes one of the ${plural} that were selected, and does not say that it is gone; it stays selected for an hour`,
      id,
    );
    return [one];
  }

  /** Keeps the members, and forgets what nobody asked for since an hour. */
  #remember(key: string, members: readonly T[]): void {
    const nowMs = this.#clock.elapsedMs();
    this.#last.set(key, { members, atMs: nowMs });
    for (const [one, { atMs }] of this.#last) if (nowMs - atMs > DOUBTED_MS) this.#last.delete(one);
    for (const [one, sinceMs] of this.#doubtedMs)
      if (nowMs - sinceMs > 2 * DOUBTED_MS) this.#doubtedMs.delete(one);
  }

  #warn(place: string, message: string, id: string): void {
    if (this.#told.isNews(place, message)) this.#log.warn(message, { id });
  }

  #answersOne(questions: readonly SelectorQuestion[], one: T): boolean {
    const { idOf, filterable } = this.#kind;
    return questions.some(
      ({ Filters, Owners, ids }) =>
        (ids?.includes(idOf(one)) ?? true) &&
        passes(Filters, filterable(one)) &&
        isOwnedBy(Owners, filterable(one)),
    );
  }

  async #ask(view: View<T>, ids: readonly string[]): Promise<void> {
    await Promise.all(
      [...new Set(ids)]
        .filter((id) => !view.asked.has(id))
        .map(async (id) => view.asked.set(id, await this.#byId.ask(id))),
    );
  }

  async #read(questions: readonly SelectorQuestion[]): Promise<View<T>> {
    const answers = await Promise.all(questions.map((one) => this.#kind.list(one)));
    const listed = new Map(answers.flat().map((one) => [this.#kind.idOf(one), one]));
    return { listed, asked: new Map(), members: [] };
  }
}

/** The members by ID: those that are listed, and those that were added. The old array if nothing changed. */
function membersOf<T>(
  { listed, members }: View<T>,
  added: readonly T[],
  idOf: (one: T) => string,
): readonly T[] {
  const all = [...listed.values(), ...added].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  const isSame = all.length === members.length && all.every((one, at) => one === members[at]);
  return isSame ? members : all;
}

/** Whether an object with this ID can be selected, whatever its properties. */
function mayAnswer(
  questions: readonly SelectorQuestion[],
  id: string,
  idFilter: string | undefined,
): boolean {
  return questions.some(
    ({ Filters, ids }) =>
      (ids?.includes(id) ?? true) &&
      Filters.every(
        ({ Name, Values }) => Name !== idFilter || Values.some((pattern) => fits(pattern, id)),
      ),
  );
}

/** Whether one of the owners may have the object. The account's own ID is not known, so `self` fits more. */
function isOwnedBy(owners: readonly string[] | undefined, { fields }: FilteredObject): boolean {
  if (owners === undefined) return true;
  const { "owner-id": id, "owner-alias": alias } = fields;
  return owners.some((owner) =>
    owner === "self" ? alias === undefined : owner === id || owner === alias,
  );
}

/** The simplex method for small, dense linear programs. Limits are zero or more, so x = 0 is a feasible start. */

/** Wanted: the largest `objective · x` with `rows[i] · x <= limits[i]` and `x >= 0`. Limits must not be negative. */
export interface Program {
  readonly objective: readonly number[];
  readonly rows: readonly (readonly number[])[];
  readonly limits: readonly number[];
}

/** The best `x`. Undefined: the objective is unbounded, or `maxPivots` steps were not enough. */
export function maximise(
  { objective, rows, limits }: Program,
  maxPivots = 2_000,
): readonly number[] | undefined {
  const columns = objective.length;
  // A row of the table holds its coefficients, then its limit. The last row is the negated objective.
  const table = rows.map((row, at) => [...row, limits[at] as number]);
  table.push([...objective.map((one) => -one), 0]);
  const goal = table[rows.length] as number[];
  /** The variable of each row and each column: an x if its number is below `columns`, else a slack variable. */
  const inRow = rows.map((_, at) => columns + at);
  const inColumn = objective.map((_, at) => at);
  for (let step = 0; step < maxPivots; step++) {
    const entering = step < maxPivots / 2 ? steepest(goal, columns) : first(goal, columns);
    if (entering < 0) {
      const x = new Array<number>(columns).fill(0);
      inRow.forEach((variable, at) => {
        if (variable < columns) x[variable] = (table[at] as number[])[columns] as number;
      });
      return x;
    }
    const leaving = tightest(table, inRow, { entering, columns });
    if (leaving < 0) return undefined;
    pivot(table, leaving, entering);
    const moved = inRow[leaving] as number;
    inRow[leaving] = inColumn[entering] as number;
    inColumn[entering] = moved;
  }
  return undefined;
}

const EPSILON = 1e-10;

/** The column that raises the objective most for one unit. -1: no column does, so the solution is optimal. */
function steepest(goal: readonly number[], columns: number): number {
  let best = -1;
  for (let at = 0; at < columns; at++) {
    const value = goal[at] as number;
    if (value < -EPSILON && (best < 0 || value < (goal[best] as number))) best = at;
  }
  return best;
}

/** Bland's rule: the first column that raises the objective. It never cycles, but takes more steps. */
function first(goal: readonly number[], columns: number): number {
  return goal.findIndex((value, at) => at < columns && value < -EPSILON);
}

/** The row whose limit is reached first when the entering variable grows. -1: no limit is ever reached. */
function tightest(
  table: readonly (readonly number[])[],
  inRow: readonly number[],
  { entering, columns }: { readonly entering: number; readonly columns: number },
): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < inRow.length; at++) {
    const row = table[at] as readonly number[];
    const factor = row[entering] as number;
    if (factor <= EPSILON) continue;
    const ratio = (row[columns] as number) / factor;
    const tie = ratio === least && (inRow[at] as number) < (inRow[best] as number);
    if (ratio < least || tie) {
      least = ratio;
      best = at;
    }
  }
  return best;
}

/** Exchanges the variable of the row with that of the column. */
function pivot(table: readonly number[][], leaving: number, entering: number): void {
  const row = table[leaving] as number[];
  const by = row[entering] as number;
  for (let at = 0; at < row.length; at++) row[at] = (row[at] as number) / by;
  row[entering] = 1 / by;
  const at = { entering, by };
  for (const other of table) if (other !== row) clearColumn(other, row, at);
}

/** Subtracts a multiple of `row` from `other`. A separate function, because V8 then compiles it early. */
function clearColumn(
  other: number[],
  row: readonly number[],
  { entering, by }: { readonly entering: number; readonly by: number },
): void {
  const factor = other[entering] as number;
  if (factor === 0) return;
  for (let at = 0; at < row.length; at++)
    other[at] = (other[at] as number) - factor * (row[at] as number);
  other[entering] = -factor / by;
}

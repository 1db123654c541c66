// A team processes a row of numbers in parts: a lane has the columns lane, lane + lanes and so on,
// HELD of them per part, so that HELD loads are in flight. If a part holds the WHOLE row, it is
// loaded once and stays in registers for all passes over the row:
//   uint first = 0;
//   do {
//     if (!WHOLE) load(start, first);
//     [[unroll]] for (uint i = 0; i < HELD; i++) ... row_column(first, i) ...
//   } while (row_goes_on(first, columns));
// In the variant "lanes" a part is a whole row of HELD columns, an even number, loaded in pairs:
// for i a multiple of EACH, load_columns returns column row_column(first, i) and the next. So it
// does in the variant "uniform", in which a team has a row of a whole number of pairs per lane.
// Include common/reduce.glsl and common/each.glsl first. HELD and WHOLE are the first two constants
// of a kernel.
#include "common/contract.h"
#if FILTRA_EACH_PAIR
#include "common/uniform.glsl"
#endif

FT_CONSTANTS(ft_row)

#if FILTRA_ROW_UNIFORM
// Short rows that a team may have at once, so that no sum of a row need be waited for.
const uint TOGETHER = HELD <= 4 ? 4 : HELD <= 8 ? 2 : 1;
#endif

// The i-th column of this lane in the part from column `first` on. It may lie past the row's end.
uint row_column(uint first, uint i) {
#if FILTRA_ROW_UNIFORM
  return first + (i - i % 2) * team_lanes() + 2 * team_lane() + i % 2;
#else
  return first + i * team_lanes() + team_lane();
#endif
}

// Whether the row has this column.
bool row_has(uint column, uint columns) { return EACH == 2 || column < columns; }

// The column or, if it is past the row's end, the last column.
uint row_inside(uint column, uint columns) { return EACH == 2 ? column : min(column, columns - 1); }

// Of the row that begins at element `start`, column row_column(first, i) or, if that is past its
// end, the last one; if EACH is 2, with the next. CPU drivers add a constant to an address sooner
// than they make one from an index.
vec2 load_columns(const bool narrow, F32 t, uint start, uint first, const uint i, uint columns) {
#if FILTRA_ROW_UNIFORM
  return own_pair(after(t, start), i * team_lanes(), team_lane());
#elif FILTRA_ROW_LANES
  if (!narrow) return load_each(false, after(t, start), row_column(first, i));
#endif
  return load_each(narrow, t, start + row_inside(row_column(first, i), columns));
}

// Stores the columns, which the row has.
void store_columns(const bool narrow, F32 t, uint start, uint first, const uint i, vec2 x) {
#if FILTRA_EACH_PAIR
  if (!narrow) {
    store_each(false, after(t, start), row_column(first, i), x);
    return;
  }
#endif
  store_each(narrow, t, start + row_column(first, i), x);
}

#if FILTRA_ROW_LANES
// Stores the sums over a workgroup's lanes of `count` numbers to the workgroup's row of `to`
// [workgroups, count].
void store_sums(F32 to, float own[HELD], uint count) {
  const uint lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
  float mine = 0; // the sum of the column i with i % lanes == lane
  [[unroll]] for (uint i = 0; i < count; i++) {
    const float sum = lanes_sum(own[i]);
    mine = i % lanes == lane ? sum : mine;
    const uint c = i / lanes * lanes + lane;
    const bool full = i % lanes == lanes - 1 || i == count - 1;
    if (full && c < count) to.v[gl_WorkGroupID.x * count + c] = mine;
  }
}
#endif

// Moves `first` to the next part; returns whether there is one.
bool row_goes_on(inout uint first, uint columns) {
  first += HELD * team_lanes();
  return !WHOLE && first < columns;
}

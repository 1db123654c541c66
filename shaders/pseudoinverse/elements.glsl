// The invocation's tile of a matrix of `size` rows and columns, whose first element is at `at`.
// Needs the constant WHOLE.
Tile load(F32 t, uint at, uint size) {
  Tile x = zeros();
  [[unroll]] for (uint r = 0; r < TILE; r++) {
    const uint row = down() * TILE + r, column = across() * TILE, i = at + row * size + column;
    if (WHOLE) {
      if (row < size && column < size) x.row[r] = by_fours(t).v[i / 4];
    } else {
      [[unroll]] for (uint c = 0; c < TILE; c++)
        if (row < size && column + c < size) x.row[r][c] = t.v[i + c];
    }
  }
  return x;
}

void store(F32 t, uint at, uint size, Tile x) {
  [[unroll]] for (uint r = 0; r < TILE; r++) {
    const uint row = down() * TILE + r, column = across() * TILE, i = at + row * size + column;
    if (WHOLE) {
      F32x4 to = by_fours(t);
      if (row < size && column < size) to.v[i / 4] = x.row[r];
    } else {
      [[unroll]] for (uint c = 0; c < TILE; c++)
        if (row < size && column + c < size) t.v[i + c] = x.row[r][c];
    }
  }
}

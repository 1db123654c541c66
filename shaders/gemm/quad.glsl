// Four elements of C at once, which follow each other in a row. Include gemm/gemm.glsl first.

// As store, for columns n .. n+3; N is a multiple of 4.
void store_quad(Place at, uvec4 random, uint m, uint n, vec4 sum, vec4 bias) {
  uint i = at.c + m * p.ldc + n;
  vec4 x = p.scale * sum + bias;
  if (epilogue(GEMM_STORE_Z)) {
    vec4 kept;
    [[unroll]] for (uint j = 0; j < 4; j++) kept[j] = kept_of(x[j]);
    store_four(narrow_c, p.z, i / 4, kept);
  }
  const vec4 z = epilogue(GEMM_SLOPE) ? load_four(narrow_c, p.z, i / 4) : vec4(0);
  [[unroll]] for (uint j = 0; j < 4; j++) x[j] = activated(x[j], z[j]);
  if (epilogue(GEMM_DROPOUT)) {
    uvec4 words = dropout_words(random, p.op_id, dropout_element(at, m, n) / 4);
    [[unroll]] for (uint j = 0; j < 4; j++) x[j] *= dropout_factor(words[j], p.rate);
  }
  if (epilogue(GEMM_RESIDUAL)) x += by_fours(p.residual).v[i / 4];
  if (epilogue(GEMM_ACCUMULATE)) x += load_four(narrow_c, p.c, i / 4);
  store_four(narrow_c, p.c, i / 4, x);
}

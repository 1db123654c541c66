#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// The bias's gradient.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_RESULT F32
#include "plaplacian/norms.glsl"
#include "plaplacian/backward.glsl"

void head_gradients(out float ds[OWN_ROWS][OWN_COLS], uint b, uint h, uint origin, uint query,
                    uint key) {
  const float exponent = head_exponent(h);
  float p[OWN_ROWS][OWN_COLS], f[OWN_ROWS][OWN_COLS], pull[OWN_ROWS][OWN_COLS];
  float lse[OWN_ROWS], delta[OWN_ROWS];
  load_statistics(lse, delta, b * HEADS + h, query);
  Matrix v = like_v(args.v, b, h);
  OwnRows q, own, dy;
  own_rows(q, like_q(args.q, b, h), query);
  own_rows(own, v, token_of(query));
  own_rows(dy, like_y(args.dy, b, h), query);
  score_gradients(ds, p, f, pull, q, like_k(args.k, b, h), own, v, dy, lse, delta, b, h, origin,
                  query, key, exponent, is_attention(exponent));
}

#include "attention/backward_bias.glsl"

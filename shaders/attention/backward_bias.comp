#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// The bias's gradient.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_RESULT F32
#include "attention/tile.glsl"
#include "attention/backward.glsl"

void head_gradients(out float ds[OWN_ROWS][OWN_COLS], uint b, uint h, uint origin, uint query,
                    uint key) {
  float lse[OWN_ROWS], delta[OWN_ROWS];
  OwnRows q, dy;
  load_statistics(lse, delta, b * HEADS + h, query);
  own_rows(q, like_q(args.q, b, h), query);
  own_rows(dy, upstream(b, h), query);
  score_gradients(ds, q, like_k(args.k, b, h), values(b, h), dy, lse, delta, b, h, origin, query,
                  key);
}

#include "attention/backward_bias.glsl"

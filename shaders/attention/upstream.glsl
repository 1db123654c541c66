// What dS = P * (dropout * (dy v^T) - delta) is made of. PAIRED: args.dy is [2,B,N,H,2 VALUE], each
// token's two dy side by side in the first plane, its two values in the second, and the product of
// such rows is the sum of two (GFSA's attention is used twice).
Matrix paired(uint plane, uint b, uint h) {
  const uint width = 2 * VALUE;
  return Matrix(advance(args.dy, ((plane * args.batches + b) * args.queries * HEADS + h) * width),
                args.queries, width, HEADS * width);
}
Matrix upstream(uint b, uint h) { return PAIRED ? paired(0, b, h) : like_y(args.dy, b, h); }
Matrix values(uint b, uint h) { return PAIRED ? paired(1, b, h) : like_v(args.v, b, h); }

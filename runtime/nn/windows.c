/* Called by nn/encoder.c for layers with windows, and by model/network.c between stages. */
#include "nn/windows.h"

#include "ops/support.h"

static int64_t up_to_multiple(int64_t n, int64_t of) {
  return (n + of - 1) / of * of;
}

ft_windows ft_windows_of(int64_t rows, int64_t columns, int64_t side, bool moved) {
  ft_windows w = {.rows = rows, .columns = columns, .height = rows, .width = columns};
  if (side && side < rows) w.height = side;
  if (side && side < columns) w.width = side;
  if (moved && w.height < rows) w.down = side / 2;
  if (moved && w.width < columns) w.right = side / 2;
  return w;
}

bool ft_windows_several(const ft_windows *w) {
  return w->height < w->rows || w->width < w->columns;
}

int64_t ft_windows_count(const ft_windows *w) {
  return up_to_multiple(w->rows, w->height) / w->height * up_to_multiple(w->columns, w->width) /
         w->width;
}

/* ---- shifting an image ---- */

/* An image x and the shifted one y, which may be larger: y[i,j] = x[(i + down) mod rows, (j +
 * right) mod columns], and zeros beyond x's rows and columns. With `back`, x from y. */
struct move {
  filtra_tensor *from, *to; /* [B, rows, columns, C], dense */
  int64_t rows, columns, down, right;
  bool back;
};

static filtra_tensor *box(filtra_graph *g, filtra_tensor *t, const int64_t at[2],
                          const int64_t size[2]) {
  const int64_t shape[] = {t->shape[0], size[0], size[1], t->shape[3]};
  filtra_tensor *view = ft_tensor_view(g, t, 4, shape, t->stride);
  if (view) view->offset += at[0] * t->stride[1] + at[1] * t->stride[2];
  return view;
}

/* Copies the four parts of x to their places in y, or back. */
static void emit_move(filtra_graph *g, const struct move *c, filtra_tensor *from, filtra_tensor *to,
                      bool back, bool add) {
  if (!from || !to) return;
  const bool larger = !back && filtra_tensor_elements(to) > filtra_tensor_elements(from);
  if (larger && !add) ft_emit_fill(g, to, 0.0f);
  for (int part = 0; part < 4; part++) {
    const bool below = part / 2, beside = part % 2; /* the parts that wrapped around */
    const int64_t size[] = {below ? c->down : c->rows - c->down,
                            beside ? c->right : c->columns - c->right};
    const int64_t in_x[] = {below ? 0 : c->down, beside ? 0 : c->right};
    const int64_t in_y[] = {below ? c->rows - c->down : 0, beside ? c->columns - c->right : 0};
    if (size[0] && size[1])
      ft_emit_copy(g, box(g, from, back ? in_y : in_x, size), box(g, to, back ? in_x : in_y, size),
                   add);
  }
}

static void move_backward(filtra_graph *g, const void *context) {
  const struct move *c = context;
  bool add;
  filtra_tensor *target = ft_grad_target(g, c->from, &add);
  if (target) emit_move(g, c, ft_grad(g, c->to), target, !c->back, add);
}

/* Shifts the image x [B,..,C] as the struct describes -> [B, rows, columns, C]. */
static filtra_tensor *move(filtra_graph *g, struct move c, filtra_tensor *x, const int64_t from[2],
                           const int64_t to[2]) {
  if (!ft_usable(g, x)) return NULL;
  const int64_t batch = filtra_tensor_elements(x) / (from[0] * from[1] * ft_columns(x));
  int64_t shape[] = {batch, from[0], from[1], ft_columns(x)};
  c.from = filtra_reshape(g, x, 4, shape);
  if (from[0] == to[0] && from[1] == to[1] && !c.down && !c.right) return c.from;
  shape[1] = to[0];
  shape[2] = to[1];
  c.to = ft_tensor_new(g, "moved", filtra_tensor_dtype(x), 4, shape);
  if (!c.from || !c.to) return NULL;
  emit_move(g, &c, c.from, c.to, c.back, false);
  return ft_record_op(g, "move", move_backward, &c, sizeof c, 1, &c.from, 1, &c.to);
}

/* [B rows, down, columns, across] -> [B rows, columns, down, across]: from rows of tokens to one
 * cell of the image after the other, or the inverse. */
static filtra_tensor *exchange(filtra_graph *g, filtra_tensor *x, int64_t down, int64_t columns,
                               int64_t across) {
  if (!ft_usable(g, x)) return NULL;
  const int64_t rows = filtra_tensor_elements(x) / (down * columns * across);
  x = filtra_reshape(g, x, 4, (int64_t[]){rows, down, columns, across});
  return filtra_permute(g, x, (int[]){0, 2, 1, 3});
}

/* ---- windows ---- */

static struct move move_of(const ft_windows *w, bool back) {
  return (struct move){
      .rows = w->rows, .columns = w->columns, .down = w->down, .right = w->right, .back = back};
}

/* The image's rows and columns, and those that windows cover. */
static void sizes_of(const ft_windows *w, int64_t image[2], int64_t covered[2]) {
  image[0] = w->rows;
  image[1] = w->columns;
  covered[0] = up_to_multiple(w->rows, w->height);
  covered[1] = up_to_multiple(w->columns, w->width);
}

filtra_tensor *ft_windows_cut(filtra_graph *g, const ft_windows *w, filtra_tensor *x) {
  int64_t image[2], covered[2];
  sizes_of(w, image, covered);
  x = move(g, move_of(w, false), x, image, covered);
  if (!ft_usable(g, x)) return NULL;
  const int64_t width = ft_columns(x), batch = x->shape[0];
  x = exchange(g, x, w->height, covered[1] / w->width, w->width * width);
  return x ? filtra_reshape(g, x, 3,
                            (int64_t[]){batch * ft_windows_count(w), w->height * w->width, width})
           : NULL;
}

filtra_tensor *ft_windows_join(filtra_graph *g, const ft_windows *w, filtra_tensor *x) {
  int64_t image[2], covered[2];
  if (!ft_usable(g, x)) return NULL;
  sizes_of(w, image, covered);
  const int64_t width = ft_columns(x), batch = x->shape[0] / ft_windows_count(w);
  x = exchange(g, x, covered[1] / w->width, w->height, w->width * width);
  if (!x) return NULL;
  x = filtra_reshape(g, x, 3, (int64_t[]){batch, covered[0] * covered[1], width});
  x = move(g, move_of(w, true), x, covered, image);
  return x ? filtra_reshape(g, x, 3, (int64_t[]){batch, image[0] * image[1], width}) : NULL;
}

/* ---- the bias ---- */

/* y[a,j,i,r] = x[a, i - j + n - 1, r] of x [A, 2n - 1, R], i and j below n: n copies of x, each
 * read from one element further than the previous one. */
static filtra_tensor *slide(filtra_graph *g, filtra_tensor *x, int64_t parts, int64_t n,
                            int64_t rest) {
  const int64_t line = 2 * n - 1, copies[] = {1, n, 1, 1}, origin[4] = {0};
  if (n == 1) return filtra_reshape(g, x, 4, (int64_t[]){parts, 1, 1, rest});
  x = filtra_add(g, filtra_constant(g, 4, copies, 0.0f),
                 filtra_reshape(g, x, 4, (int64_t[]){parts, 1, line, rest}));
  x = filtra_reshape(g, x, 2, (int64_t[]){parts, n * line * rest});
  x = filtra_slice(g, x, (int64_t[]){0, (n - 1) * rest}, (int64_t[]){parts, n * (line - 1) * rest});
  x = filtra_reshape(g, x, 4, (int64_t[]){parts, n, line - 1, rest});
  return filtra_slice(g, x, origin, (int64_t[]){parts, n, n, rest});
}

/* [H,n,n]: head, query, key. */
static filtra_tensor *relative_bias(const ft_scope *scope, const ft_windows *w, int64_t heads,
                                    float spread) {
  filtra_graph *g = scope->graph;
  const ft_scope inner = ft_scope_enter(scope, "relative");
  const int64_t h = w->height, c = w->width, n = h * c,
                shape[] = {(2 * h - 1) * (2 * c - 1), heads};
  filtra_tensor *t = filtra_scope_parameter(
      &inner, "weight", 2, shape,
      &(filtra_parameter_options){.init = FILTRA_INIT_NORMAL, .value = spread});
  t = slide(g, t, 1, h, (2 * c - 1) * heads); /* key's row, query's row, .. */
  t = slide(g, t, h * h, c, heads);           /* and key's column, query's column, head */
  t = filtra_transpose(g, filtra_reshape(g, t, 3, (int64_t[]){h, h, c * c * heads}), 0, 1);
  t = filtra_permute(g, filtra_reshape(g, t, 4, (int64_t[]){h, n, c, heads}), (int[]){3, 0, 2, 1});
  return filtra_reshape(g, t, 3, (int64_t[]){heads, n, n});
}

/* Along one axis of the shifted image, [n]: 0 before the last window, then 1, and 2 where the image
 * wrapped around. */
static filtra_tensor *ends(filtra_graph *g, int64_t n, int64_t window, int64_t moved) {
  const int64_t lengths[] = {n - window, window - moved, moved};
  filtra_tensor *parts[3];
  if (!moved) return filtra_constant(g, 1, &n, 0.0f);
  for (int i = 0; i < 3; i++)
    parts[i] = filtra_constant(g, 1, &lengths[i], (float)i);
  return filtra_concat(g, 0, 3, parts);
}

/* [count,1,n,n]: 0, or -100 for two tokens of a window from different ends of the image. */
static filtra_tensor *apart(filtra_graph *g, const ft_windows *w) {
  int64_t image[2], covered[2];
  sizes_of(w, image, covered);
  const int64_t n = w->height * w->width, count = ft_windows_count(w);
  filtra_tensor *down = ends(g, covered[0], w->height, w->down),
                *across = ends(g, covered[1], w->width, w->right);
  down = filtra_reshape(g, filtra_affine(g, down, 3.0f, 0.0f), 2, (int64_t[]){covered[0], 1});
  filtra_tensor *end =
      exchange(g, filtra_add(g, down, across), w->height, covered[1] / w->width, w->width);
  filtra_tensor *d = filtra_subtract(g, filtra_reshape(g, end, 4, (int64_t[]){count, 1, n, 1}),
                                     filtra_reshape(g, end, 4, (int64_t[]){count, 1, 1, n}));
  filtra_tensor *same = filtra_activate(g, filtra_affine(g, filtra_multiply(g, d, d), -1.0f, 1.0f),
                                        FILTRA_ACTIVATION_RELU);
  return filtra_affine(g, same, 100.0f, -100.0f);
}

filtra_tensor *ft_windows_bias(const ft_scope *scope, const ft_windows *w, int64_t batch,
                               int64_t heads, float spread) {
  filtra_graph *g = scope->graph;
  const int64_t n = w->height * w->width, count = ft_windows_count(w),
                whole = count * heads * n * n;
  filtra_tensor *bias = w->relative ? relative_bias(scope, w, heads, spread) : NULL;
  if (!w->down && !w->right) return bias;
  if (!bias) bias = filtra_constant(g, 3, (int64_t[]){heads, 1, 1}, 0.0f);
  bias = filtra_reshape(g, filtra_add(g, apart(g, w), bias), 2, (int64_t[]){1, whole});
  bias = filtra_add(g, filtra_constant(g, 2, (int64_t[]){batch, 1}, 0.0f), bias);
  return filtra_reshape(g, bias, 4, (int64_t[]){batch * count, heads, n, n});
}

/* ---- merging ---- */

filtra_tensor *ft_merge_patches(const ft_scope *scope, filtra_tensor *x, int64_t rows,
                                int64_t columns) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x)) return NULL;
  const int64_t width = ft_columns(x), batch = x->shape[0];
  const int64_t even[] = {up_to_multiple(rows, 2), up_to_multiple(columns, 2)},
                four[] = {batch, even[0] * even[1] / 4, 4 * width};
  x = move(g, (struct move){.rows = rows, .columns = columns}, x, (int64_t[]){rows, columns}, even);
  x = exchange(g, x, 2, even[1], width);
  if (!x) return NULL;
  x = ft_norm_layer(scope, "norm", filtra_reshape(g, x, 3, four), scope->precision);
  const int64_t shape[] = {2 * width, 4 * width};
  const filtra_parameter_options init = ft_scope_matrix(scope, 4 * width);
  return filtra_linear(g, x, ft_scope_weight(scope, "weight", shape, &init), NULL, NULL);
}

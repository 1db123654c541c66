/* Draws images of the Pathfinder task (Linsley et al. 2018, "Learning long-range spatial
 * dependencies with horizontal gated recurrent units"; Kim et al. 2020) with the size and settings
 * of Long Range Arena (Tay et al. 2021). Called by pathfinder_generate.c.
 *
 * A contour is a chain of paddles. A margin beyond the last paddle's head, in its direction, lies a
 * pivot. The next head is drawn from the pixels on a circle around the pivot, with probability
 * proportional to cos^2 of the turn times how free the pixel is. Two long contours grow in turns
 * from the middle; then short ones are added. Markers lie on the first paddle of one long contour
 * and on the last paddle of the same or the other. A mask keeps contours a margin apart. */
#include "data/pathfinder_draw.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SIDE = FT_PATHFINDER_SIDE,
  PIXELS = FT_PATHFINDER_PIXELS,
  LENGTH = 2,        /* of a paddle, in pixels */
  MARGIN = 1,        /* kept free around it */
  SCALE = 2,         /* paddles are drawn this much larger, then sampled down */
  SEED_DISTANCE = 7, /* between the first tails of the two long contours */
  BORDER = 1,
  REACH = LENGTH + 1 + MARGIN,   /* of a stamp, from its centre */
  STAMP = 2 * REACH + 1,         /* its side */
  LARGE = 2 * REACH * SCALE + 1, /* the side before sampling down */
  HEAD = LENGTH * SCALE,         /* farthest head from the tail, in large pixels */
  HEADS = (2 * HEAD + 1) * (2 * HEAD + 1),
  CIRCLE = 19,       /* points on the circle around a pivot, a pixel apart */
  PADDLE_TRIES = 3,  /* heads drawn before a contour is abandoned */
  CONTOUR_TRIES = 5, /* attempts at a short contour before it is left out */
  IMAGE_TRIES = 200000
};

#define PI              3.14159265358979323846
#define LONG_CONTRAST   1.5f /* a paddle's 0.75 times the contour's 2 */
#define SHORT_CONTRAST  2.0f
#define MARKER_RADIUS   1.5
#define CONTINUITY      1.0
#define TAKEN           0.3f /* no contour begins where the mask is larger */
#define COLLISION       1.8f /* sum of two masks that counts as a collision */
#define LEAST_AVAILABLE 0.01 /* no contour begins below this fraction of free pixels */

typedef struct stamp {
  float line[STAMP * STAMP], mask[STAMP * STAMP]; /* 0 to 1, around the paddle's tail */
} stamp;

struct ft_pathfinder_style {
  ft_pathfinder_shape shape;
  stamp paddles[HEADS]; /* indexed by the head's position in large pixels */
  float marker[STAMP * STAMP];
};

/* ---- sampling down ---- */

static double lanczos3(double x) {
  if (fabs(x) < 1e-12) return 1.0;
  if (fabs(x) >= 3.0) return 0.0;
  return 3.0 * sin(PI * x) * sin(PI * x / 3.0) / (PI * PI * x * x);
}

/* Lanczos weights of `from` large pixels in a small pixel centred at `middle`, with `ratio` large
 * pixels to a small one. Large pixel j is centred at first + j + 1/2. */
static void lanczos_weights(double middle, double ratio, double first, int from, double *weights) {
  double sum = 0.0;
  for (int j = 0; j < from; j++)
    sum += weights[j] = lanczos3((first + j + 0.5 - middle) / ratio);
  for (int j = 0; j < from; j++)
    weights[j] /= sum;
}

static float clip(double value) {
  return (float)(value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value);
}

static void shrink(bool large[LARGE][LARGE], float small[STAMP * STAMP]) {
  double weights[STAMP][LARGE], ratio = (double)LARGE / STAMP;
  for (int i = 0; i < STAMP; i++)
    lanczos_weights((i + 0.5) * ratio, ratio, 0.0, LARGE, weights[i]);
  for (int y = 0; y < STAMP; y++)
    for (int x = 0; x < STAMP; x++) {
      double sum = 0.0;
      for (int i = 0; i < LARGE; i++)
        for (int j = 0; j < LARGE; j++)
          if (large[i][j]) sum += weights[y][i] * weights[x][j];
      small[y * STAMP + x] = clip(sum);
    }
}

/* ---- stamps ---- */

/* Draws a line from the centre (Bresenham), one large pixel wide, and as mask everything within a
 * margin of it. */
static void draw_paddle(int head_y, int head_x, stamp *s) {
  bool line[LARGE][LARGE] = {{false}}, mask[LARGE][LARGE] = {{false}};
  int middle = LARGE / 2, radius = MARGIN * SCALE, y = 0, x = 0;
  int dy = abs(head_y), dx = abs(head_x), error = dx - dy;
  for (;;) {
    line[middle + y][middle + x] = true;
    if (y == head_y && x == head_x) break;
    int twice = 2 * error;
    if (twice > -dy) error -= dy, x += head_x > 0 ? 1 : -1;
    if (twice < dx) error += dx, y += head_y > 0 ? 1 : -1;
  }
  for (int i = 0; i < LARGE * LARGE; i++)
    for (int v = -radius; v <= radius; v++)
      for (int u = -radius; u <= radius; u++) {
        int to_y = i / LARGE + v, to_x = i % LARGE + u;
        bool inside = to_y >= 0 && to_y < LARGE && to_x >= 0 && to_x < LARGE;
        if (line[i / LARGE][i % LARGE] && inside && u * u + v * v <= radius * radius)
          mask[to_y][to_x] = true;
      }
  shrink(line, s->line);
  shrink(mask, s->mask);
}

static void draw_marker(float marker[STAMP * STAMP]) {
  enum { TAPS = 4 * REACH * SCALE };
  double weights[STAMP][TAPS], limit = MARKER_RADIUS * SCALE * MARKER_RADIUS * SCALE;
  const int first = -TAPS / 2;
  for (int i = 0; i < STAMP; i++)
    lanczos_weights((i - REACH + 0.5) * SCALE, SCALE, first, TAPS, weights[i]);
  for (int y = 0; y < STAMP; y++)
    for (int x = 0; x < STAMP; x++) {
      double sum = 0.0;
      for (int v = 0; v < TAPS; v++)
        for (int u = 0; u < TAPS; u++)
          if ((v + first) * (v + first) + (u + first) * (u + first) <= limit)
            sum += weights[y][v] * weights[x][u];
      marker[y * STAMP + x] = clip(sum);
    }
}

ft_pathfinder_style *ft_pathfinder_style_make(const ft_pathfinder_shape *shape) {
  ft_pathfinder_style *style = ft_calloc(1, sizeof *style);
  if (!style) return NULL;
  style->shape = *shape;
  for (int i = 0; i < HEADS; i++)
    draw_paddle(i / (2 * HEAD + 1) - HEAD, i % (2 * HEAD + 1) - HEAD, &style->paddles[i]);
  draw_marker(style->marker);
  return style;
}

void ft_pathfinder_style_free(ft_pathfinder_style *style) {
  free(style);
}

/* ---- points and directions ---- */

typedef struct point {
  int y, x;
} point;

/* A coordinate moved by a distance, rounded up as the authors do; 1e-9 absorbs rounding errors of
 * whole numbers. */
static int moved(int from, double by) {
  return (int)ceil(from + by - 1e-9);
}

static point translate(point from, double direction, double distance) {
  return (point){moved(from.y, distance * sin(direction)),
                 moved(from.x, distance * cos(direction))};
}

static bool inside(point p) {
  return p.y >= 0 && p.y < SIDE && p.x >= 0 && p.x < SIDE;
}

static const stamp *paddle_towards(const ft_pathfinder_style *style, double direction) {
  point head = translate((point){0, 0}, direction, HEAD);
  return &style->paddles[(head.y + HEAD) * (2 * HEAD + 1) + head.x + HEAD];
}

static double draw_degrees(ft_rng *rng) {
  return ((double)ft_rng_below(rng, 360) - 180.0) * PI / 180.0;
}

/* canvas = max(canvas, contrast * stamp) around `at`. */
static void press(float canvas[PIXELS], const float small[STAMP * STAMP], point at,
                  float contrast) {
  for (int v = 0; v < STAMP; v++)
    for (int u = 0; u < STAMP; u++) {
      point to = {at.y + v - REACH, at.x + u - REACH};
      float value = contrast * small[v * STAMP + u];
      if (inside(to) && value > canvas[to.y * SIDE + to.x]) canvas[to.y * SIDE + to.x] = value;
    }
}

/* The maximum of mask + stamp around `at`. */
static float highest_sum(const float mask[PIXELS], const stamp *s, point at) {
  float highest = 0.0f;
  for (int v = 0; v < STAMP; v++)
    for (int u = 0; u < STAMP; u++) {
      point to = {at.y + v - REACH, at.x + u - REACH};
      if (!inside(to)) continue;
      float sum = mask[to.y * SIDE + to.x] + s->mask[v * STAMP + u];
      if (sum > highest) highest = sum;
    }
  return highest;
}

/* ---- contours ---- */

typedef struct contour {
  point pivot, tip; /* tip: the newest paddle's head; before the second, the first tail */
  double direction;
  const stamp *last; /* the newest paddle, not yet in the mask */
  point last_at;
} contour;

typedef struct drawing {
  const ft_pathfinder_style *style;
  ft_rng rng;
  float image[PIXELS], mask[PIXELS];
} drawing;

/* Starts a contour with one paddle at `tail`; false: it would leave the image. */
static bool begin_contour(drawing *d, contour *c, point tail, double direction, float contrast) {
  point head = translate(tail, direction, LENGTH);
  double back = direction < 0.0 ? direction + PI : direction - PI;
  *c = (contour){.pivot = translate(head, back, LENGTH + MARGIN),
                 .tip = tail,
                 .direction = direction,
                 .last = paddle_towards(d->style, direction),
                 .last_at = tail};
  if (!inside(tail) || !inside(head) || !inside(c->pivot)) return false;
  press(d->image, c->last->line, tail, contrast);
  return true;
}

/* The maximum of the mask in a pixel and its four neighbours, since paddles end a margin away. */
static float taken_near(const float mask[PIXELS], point p) {
  static const point around[] = {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}};
  float most = 0.0f;
  for (size_t i = 0; i < FT_COUNT(around); i++) {
    point q = {p.y + around[i].y, p.x + around[i].x};
    if (inside(q) && mask[q.y * SIDE + q.x] > most) most = mask[q.y * SIDE + q.x];
  }
  return most;
}

typedef struct choice {
  point heads[CIRCLE];
  double directions[CIRCLE], weights[CIRCLE], total;
  int count;
} choice;

static bool is_listed(const choice *c, point p) {
  for (int i = 0; i < c->count; i++)
    if (c->heads[i].y == p.y && c->heads[i].x == p.x) return true;
  return false;
}

/* Lists the heads that a paddle at `pivot` can have, and their probabilities. */
static void list_heads(const drawing *d, point pivot, double direction, choice *c) {
  double radius = LENGTH + MARGIN;
  *c = (choice){.count = 0};
  for (int i = 0; i < CIRCLE; i++) {
    double angle = i / radius; /* one pixel of arc */
    double y = pivot.y + radius * sin(angle), x = pivot.x + radius * cos(angle);
    point p = {(int)floor(y), (int)floor(x)};
    if (!inside(p) || is_listed(c, p)) continue;
    double towards = atan2(p.y - pivot.y, p.x - pivot.x), turn = fabs(towards - direction);
    turn = CONTINUITY * fmin(turn, 2.0 * PI - turn);
    double straight = turn < PI / 2.0 ? cos(turn) : 0.0;
    double weight = straight * straight * (1.0 - taken_near(d->mask, p));
    c->heads[c->count] = p;
    c->directions[c->count] = towards;
    c->weights[c->count++] = weight;
    c->total += weight;
  }
}

static int draw_choice(const choice *c, ft_rng *rng) {
  double left = c->total * ft_rng_double(rng);
  int last = 0;
  for (int i = 0; i < c->count; i++) {
    if (c->weights[i] <= 0.0) continue;
    last = i;
    if (left < c->weights[i]) break;
    left -= c->weights[i];
  }
  return last;
}

static bool extend(drawing *d, contour *c, float contrast) {
  point pivot = translate(c->pivot, c->direction, LENGTH + 2 * MARGIN);
  choice heads;
  list_heads(d, pivot, c->direction, &heads);
  if (heads.total < 1e-4) return false;
  for (int i = 0; i < PADDLE_TRIES; i++) {
    int drawn = draw_choice(&heads, &d->rng);
    double direction = heads.directions[drawn];
    double back = direction < 0.0 ? direction + PI : direction - PI;
    const stamp *paddle = paddle_towards(d->style, back);
    if (highest_sum(d->mask, paddle, heads.heads[drawn]) >= COLLISION) continue;
    press(d->image, paddle->line, heads.heads[drawn], contrast);
    press(d->mask, c->last->mask, c->last_at, 1.0f);
    *c = (contour){pivot, heads.heads[drawn], direction, paddle, heads.heads[drawn]};
    return true;
  }
  return false;
}

/* Draws a position where a paddle in that direction touches neither a contour nor the outer
 * `border` pixels; false: there is none. */
static bool draw_tail(drawing *d, double direction, int border, point *tail) {
  const stamp *paddle = paddle_towards(d->style, direction);
  uint32_t free_places[PIXELS];
  uint64_t count = 0;
  for (uint32_t i = 0; i < PIXELS; i++) {
    bool clear = true;
    for (int k = 0; k < STAMP * STAMP && clear; k++) {
      point p = {(int)i / SIDE + k / STAMP - REACH, (int)i % SIDE + k % STAMP - REACH};
      if (paddle->mask[k] < 0.998f) continue; /* the stamp's edge may touch others */
      clear = p.y >= border && p.y < SIDE - border && p.x >= border && p.x < SIDE - border &&
              d->mask[p.y * SIDE + p.x] <= TAKEN;
    }
    if (clear) free_places[count++] = i;
  }
  if (count == 0) return false;
  uint32_t drawn = free_places[ft_rng_below(&d->rng, count)];
  *tail = (point){(int)drawn / SIDE, (int)drawn % SIDE};
  return true;
}

/* ---- the image ---- */

static void clear_drawing(drawing *d) {
  memset(d->image, 0, sizeof d->image);
  for (int i = 0; i < PIXELS; i++) {
    int y = i / SIDE, x = i % SIDE;
    bool rim = y < BORDER || y >= SIDE - BORDER || x < BORDER || x >= SIDE - BORDER;
    d->mask[i] = rim ? 1.0f : 0.0f;
  }
}

/* Draws both long contours, in turns. False: one cannot be continued. */
static bool draw_long(drawing *d, contour c[2], point tails[2]) {
  double direction = draw_degrees(&d->rng);
  if (!draw_tail(d, direction, 2 * SEED_DISTANCE, &tails[0])) return false;
  if (!begin_contour(d, &c[0], tails[0], direction, LONG_CONTRAST)) return false;
  direction = draw_degrees(&d->rng);
  double towards = draw_degrees(&d->rng);
  tails[1] = (point){(int)lround(tails[0].y + SEED_DISTANCE * sin(towards)),
                     (int)lround(tails[0].x + SEED_DISTANCE * cos(towards))};
  if (!begin_contour(d, &c[1], tails[1], direction, LONG_CONTRAST)) return false;
  for (uint32_t i = 1; i < d->style->shape.contour_length; i++)
    if (!extend(d, &c[0], LONG_CONTRAST) || !extend(d, &c[1], LONG_CONTRAST)) return false;
  for (int i = 0; i < 2; i++)
    press(d->mask, c[i].last->mask, c[i].last_at, 1.0f);
  return true;
}

static bool has_room(const drawing *d) {
  int available = 0;
  for (int i = 0; i < PIXELS; i++)
    available += d->mask[i] <= TAKEN;
  return available >= LEAST_AVAILABLE * PIXELS;
}

static bool draw_short(drawing *d) {
  contour c;
  point tail;
  double direction = draw_degrees(&d->rng);
  if (!has_room(d) || !draw_tail(d, direction, BORDER, &tail)) return false;
  if (!begin_contour(d, &c, tail, direction, SHORT_CONTRAST)) return false;
  for (uint32_t i = 1; i < d->style->shape.distractor_length; i++)
    if (!extend(d, &c, SHORT_CONTRAST)) return false;
  press(d->mask, c.last->mask, c.last_at, 1.0f);
  return true;
}

/* Draws a short contour. A failed attempt is undone and repeated, up to CONTOUR_TRIES times. */
static void draw_distractor(drawing *d) {
  for (int i = 0; i < CONTOUR_TRIES; i++) {
    drawing attempt = *d;
    bool done = draw_short(&attempt);
    d->rng = attempt.rng;
    if (!done) continue;
    *d = attempt;
    return;
  }
}

bool ft_pathfinder_draw(const ft_pathfinder_style *style, ft_rng rng, uint8_t pixels[PIXELS],
                        int *label) {
  drawing d = {.style = style, .rng = rng};
  contour c[2];
  point tails[2];
  bool done = false;
  *label = (int)ft_rng_below(&d.rng, 2);
  for (int i = 0; i < IMAGE_TRIES && !done; i++) {
    clear_drawing(&d);
    done = draw_long(&d, c, tails);
  }
  for (uint32_t i = 0; i < style->shape.distractors && done; i++)
    draw_distractor(&d);
  size_t origin = ft_rng_below(&d.rng, 2), end = *label ? origin : 1 - origin;
  float brightest = 0.0f;
  if (!done) return false;
  press(d.image, style->marker, tails[origin], 1.0f);
  press(d.image, style->marker, c[end].tip, 1.0f);
  for (int i = 0; i < PIXELS; i++)
    brightest = d.image[i] > brightest ? d.image[i] : brightest;
  for (int i = 0; i < PIXELS; i++)
    pixels[i] = (uint8_t)(255.0f * d.image[i] / brightest + 0.5f);
  return true;
}

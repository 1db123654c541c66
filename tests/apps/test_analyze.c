/* filtra analyze: its measures against closed forms, its results for a run, its page. */
#include "analyze/factors.c" /* the command is no library */
#include "analyze/matrix.c"
#include "analyze/spectra.c"

#include "base/file.h"
#include "support/browser.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/page.h"
#include "support/run.h"

#include <jansson.h>

TEST(test_similarity) {
  double scratch[3];
  const float alike[] = {1, 2, 3, 2, 4, 6, 0, 0, 0, 3, 6, 9}; /* a token of zeros counts for none */
  const float apart[] = {1, 0, 0, 0, 5, 0, 0, 0, 2};
  const float opposite[] = {1, 1, 0, -2, -2, 0};
  assert_true(fabs(spectra_similarity(alike, 4, 3, scratch) - 1.0) < 1e-12);
  assert_true(fabs(spectra_similarity(apart, 3, 3, scratch)) < 1e-12);
  assert_true(fabs(spectra_similarity(opposite, 2, 3, scratch) + 1.0) < 1e-12);
  assert_true(isnan(spectra_similarity(apart, 1, 3, scratch)));
}

/* A cosine of one frequency has its energy in that frequency's band and nowhere else. */
TEST(test_bands) {
  enum { TOKENS = 96 };
  static const size_t turns[] = {0, 1, 5, 24, 48};
  for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
    float x[TOKENS * 2];
    double scratch[2 * (TOKENS + 2)], energy[SPECTRA_BANDS] = {0}, all = 0.0;
    for (size_t n = 0; n < TOKENS; n++) {
      x[2 * n] = (float)cos(2.0 * PI * (double)(turns[i] * n) / TOKENS);
      x[2 * n + 1] = 0.5f * x[2 * n];
    }
    spectra_add_energy(x, TOKENS, 2, scratch, energy);
    size_t band = (size_t)ceil((double)turns[i] / (TOKENS / 2) * (SPECTRA_BANDS - 1));
    for (size_t k = 0; k < SPECTRA_BANDS; k++)
      all += energy[k];
    double amplitude = turns[i] == 0 || turns[i] == TOKENS / 2 ? TOKENS : TOKENS / 2.0;
    assert_true(fabs(energy[band] / (1.25 * amplitude * amplitude) - 1.0) < 1e-5);
    assert_true(fabs(all / energy[band] - 1.0) < 1e-10);
  }
}

/* Rotations on both sides leave singular values alone: x = Q diag(s) R. */
TEST(test_singular_values) {
  enum { TOKENS = 7, WIDTH = 4 };
  static const double wanted[WIDTH] = {9.0, 2.5, 0.125, 0.0};
  float x[TOKENS * WIDTH];
  double matrix[TOKENS][WIDTH] = {{0}}, gram[WIDTH * WIDTH], got[WIDTH];
  for (size_t i = 0; i < WIDTH; i++)
    matrix[i][i] = wanted[i];
  for (size_t p = 0; p < TOKENS; p++)
    for (size_t q = p + 1; q < TOKENS; q++)
      for (size_t c = 0; c < WIDTH; c++) {
        double a = matrix[p][c], b = matrix[q][c];
        matrix[p][c] = cos(0.7) * a - sin(0.7) * b;
        matrix[q][c] = sin(0.7) * a + cos(0.7) * b;
      }
  for (size_t p = 0; p < WIDTH; p++)
    for (size_t q = p + 1; q < WIDTH; q++)
      for (size_t n = 0; n < TOKENS; n++) {
        double a = matrix[n][p], b = matrix[n][q];
        matrix[n][p] = cos(0.3) * a - sin(0.3) * b;
        matrix[n][q] = sin(0.3) * a + cos(0.3) * b;
      }
  for (size_t i = 0; i < TOKENS * WIDTH; i++)
    x[i] = (float)matrix[i / WIDTH][i % WIDTH];
  spectra_singular_values(x, TOKENS, WIDTH, gram, got);
  for (size_t i = 0; i < WIDTH; i++)
    assert_true(fabs(got[i] - wanted[i]) < 3e-6);
}

/* A mean of 1 and a wave of amplitude 1: two thirds and one third of the energy. */
TEST(test_shares) {
  enum { N = 12 };
  float x[N];
  double scratch[2 * (N + 1)];
  for (int k = 1; k <= 6; k++) {
    for (int n = 0; n < N; n++)
      x[n] = (float)(1.0 + cos(2.0 * PI * k * n / N));
    spectra_shares shares = spectra_divide(x, N, 1, scratch);
    double wave = k == 6 ? 1.0 : 0.5; /* alternation has no phase to lose half of it by */
    assert_true(fabs(shares.low - 1.0 / (1.0 + wave)) < 1e-6);
    assert_true(fabs(shares.high - (k > 3 ? wave / (1.0 + wave) : 0.0)) < 1e-6);
  }
}

/* Of three equal directions, and of one. */
TEST(test_effective_rank) {
  static const float equal[] = {2, 0, 0, 0, 0, -2, 0, 0, 0, 0, 0, 2}, one[] = {1, 2, 2, 4, 3, 6};
  double gram[16];
  assert_true(fabs(spectra_effective_rank(equal, 3, 4, gram) - 3.0) < 1e-12);
  assert_true(fabs(spectra_effective_rank(one, 3, 2, gram) - 1.0) < 1e-12);
}

/* ---- matrices ---- */

static void assert_near(double got, double wanted) {
  if (!(fabs(got - wanted) < 1e-9)) fail_msg("%.12g, not %.12g", got, wanted);
}

/* With queries of zero all weights are 1 / N: A is a projection, and so all its powers are A. */
TEST(test_uniform_matrix) {
  enum { N = 5, STRIDE = 3 };
  float q[N * STRIDE] = {0}, k[N * STRIDE], v[N * STRIDE];
  double scratch[4 * N * N + 4 * N + 4 * N + 14];
  for (size_t i = 0; i < N * STRIDE; i++) {
    k[i] = (float)sin((double)i);
    v[i] = i % 2 ? 1.0f : (float)i;
  }
  const matrix_head head = {q, k, v, N, STRIDE, 2, NULL};
  matrix_rule rule = {.formed = true, .w1 = 1.0};
  matrix_measures m;
  assert_true(matrix_scratch(N, 2) == sizeof scratch / sizeof *scratch);
  matrix_measure(&rule, &head, scratch, &m);
  assert_near(m.row_sum, 1.0);
  assert_near(m.eigenvalue, 1.0);
  for (size_t i = 0; i < MATRIX_ORDERS; i++)
    assert_near(m.error[i], 0.0);
  double cosine = 0.0;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      const float *x = v + i * STRIDE, *y = v + j * STRIDE;
      double dots = (double)(x[0] * y[0] + x[1] * y[1]);
      if (i != j) cosine += dots / (hypot((double)x[0], (double)x[1]) * hypot(y[0], y[1])) / 20.0;
    }
  assert_near(m.value_cosine, cosine);
  double near = 0.0, energy = 0.0;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < i; j++) {
      const double distance = hypot((double)(v[i * STRIDE] - v[j * STRIDE]),
                                    (double)(v[i * STRIDE + 1] - v[j * STRIDE + 1]));
      near += distance < 1.0;
      energy += distance * distance / N / 2.0; /* both orders of a pair */
    }
  assert_near(m.homophily, near / 10.0);
  assert_near(m.energy, energy);
  assert_near(m.high_over_low[1], -12.0); /* the mean is all that is left */
  const double first = m.high_over_low[0];
  /* GFSA on 1 and on 0, the eigenvalues of a projection. */
  rule = (matrix_rule){.formed = true, .w0 = 0.5, .w1 = 0.25, .wK = 2.0, .order = 4.0};
  matrix_measure(&rule, &head, scratch, &m);
  assert_near(m.row_sum, 2.75);
  assert_near(m.eigenvalue, 2.75);
  for (size_t t = 0; t < MATRIX_EXPONENTS; t++)
    assert_near(m.high_over_low[t], first + (double)t * log10(0.5 / 2.75));
  /* p = 2: P is 1, but for the diagonal. */
  rule = (matrix_rule){
      .formed = true, .w1 = 1.0, .distances = true, .p = 2.0, .eps = 0.1, .diagonal = "zero"};
  matrix_measure(&rule, &head, scratch, &m);
  assert_near(m.least_row_sum, 0.8);
  assert_near(m.most_row_sum, 0.8);
  assert_near(m.eigenvalue, 0.8);
  rule.euler = true;
  matrix_measure(&rule, &head, scratch, &m);
  assert_near(m.row_sum, 1.0);
}

/* Of two tokens A has the eigenvalues 1 and 1 - a - b, and all is known in closed form. */
TEST(test_two_tokens) {
  static const float q[] = {1, -0.5f}, k[] = {0.3f, 1.1f}, v[] = {1, 3};
  double gap = (double)(k[1] - k[0]), scratch[32];
  double a = 1.0 / (1.0 + exp(-(double)q[0] * gap)), b = 1.0 / (1.0 + exp((double)q[1] * gap));
  double lambda = 1.0 - a - b, powers = lambda;
  matrix_head head = {q, k, v, 2, 1, 1, NULL};
  matrix_rule rule = {.formed = true, .w1 = 1.0};
  matrix_measures m;
  matrix_measure(&rule, &head, scratch, &m);
  for (size_t i = 0; i < MATRIX_ORDERS; i++) {
    double order = (double)(i + 2), error;
    powers *= lambda; /* to the order-th */
    error = powers - lambda - (order - 1.0) * (lambda * lambda - lambda);
    assert_near(m.error[i], fabs(error) * 2.0 * fmax(a, b) / (a + b));
    assert_true(m.error[i] <= matrix_bound(i));
  }
  rule.causal = true; /* [[1, 0], [b, 1 - b]]: A^K's lower left is 1 - (1 - b)^K */
  matrix_measure(&rule, &head, scratch, &m);
  assert_near(m.eigenvalue, 1.0);
  double wanted = 1.0 - pow(1.0 - b, 3.0) - (b + 2.0 * (1.0 - (1.0 - b) * (1.0 - b) - b));
  assert_near(m.error[1], 2.0 * fabs(wanted));
  rule = (matrix_rule){
      .formed = true, .w1 = 1.0, .distances = true, .p = 3.0, .eps = 0.25, .diagonal = "eps"};
  matrix_measure(&rule, &head, scratch, &m); /* |v_0 - v_1|^2 is 4 */
  assert_near(m.most_row_sum, (1.0 - a) * 0.5 + a * sqrt(4.25));
  assert_near(m.least_row_sum, (1.0 - b) * 0.5 + b * sqrt(4.25));
  assert_near(m.energy, (a + b) * 8.0 / 6.0); /* |v_0 - v_1|^3 over 2 p */
}

/* AGF's matrix against its definition, with two columns, whose singular values are in closed form.
 */
TEST(test_agf_matrix) {
  enum { N = 5, STRIDE = 3, D = 2 };
  static const float theta[] = {1.0f, -0.5f, 0.25f};
  float u[N * STRIDE], s[N * STRIDE], v[N * STRIDE], x[N * STRIDE];
  double scratch[4 * N * N + 4 * N + 2 * N * D + 3 * D * D + D], columns[D] = {0}, m[N][N];
  double trace = 0.0, squares = 0.0, sum = 0.0;
  for (size_t i = 0; i < N * STRIDE; i++) {
    u[i] = (float)sin((double)i), s[i] = (float)cos(2.0 * (double)i);
    v[i] = (float)sin(3.0 * (double)i + 1.0), x[i] = (float)(i % 4);
  }
  for (size_t i = 0; i < N; i++)
    for (size_t c = 0; c < D; c++)
      columns[c] += exp((double)v[i * STRIDE + c]);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      const float *ui = u + i * STRIDE, *si = s + i * STRIDE, *vj = v + j * STRIDE;
      m[i][j] = 0.0;
      for (size_t c = 0; c < D; c++) {
        const double y = 1.0 / (1.0 + exp(-(double)si[c])), gain = 1.0 - 0.5 * y + 0.25 * y * y;
        m[i][j] += exp((double)ui[c]) / (exp((double)ui[0]) + exp((double)ui[1])) * gain *
                   exp((double)vj[c]) / columns[c];
      }
      trace += m[i][j] * m[i][j];
      sum += m[i][j] / N;
    }
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      double product = 0.0;
      for (size_t k = 0; k < N; k++)
        product += m[i][k] * m[j][k];
      squares += product * product;
    }
  ft_mixer mixer;
  json_auto_t *json = json_pack("{ss si ss}", "name", "agf", "K", 2, "basis", "monomial");
  assert_int_equal(ft_mixer_read(json, "test", &mixer), FILTRA_OK);
  const matrix_rule rule = {.formed = true,
                            .w1 = 1.0,
                            .factored = true,
                            .mixer = &mixer,
                            .coefficients = {theta},
                            .heads = 1};
  matrix_measures got;
  matrix_measure(&rule, &(matrix_head){u, v, x, N, STRIDE, D, s}, scratch, &got);
  assert_near(got.row_sum, sum);
  const double most = (trace + sqrt(2.0 * squares - trace * trace)) / 2.0;
  assert_near(got.singular[0], sqrt(most));
  assert_near(got.singular[1], sqrt(trace - most));
  assert_true(isnan(got.energy) && isnan(got.error[0]));
  double low = 0.0, high = 0.0;
  for (size_t c = 0; c < D; c++) { /* of the matrix applied twice */
    double once[N] = {0}, twice[N] = {0}, mean = 0.0;
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++)
        once[i] += m[i][j] * (double)x[j * STRIDE + c];
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++)
        twice[i] += m[i][j] * once[j], mean += m[i][j] * once[j] / N;
    for (size_t i = 0; i < N; i++)
      low += mean * mean, high += (twice[i] - mean) * (twice[i] - mean);
  }
  assert_near(got.high_over_low[2], 0.5 * log10(high / low));
}

/* ---- runs ---- */

/* A short run of three layers; made once for each mixer. */
static const char *trained(const char *mixer) {
  const char *folder = test_new_run();
  const char *arguments = test_text("train --data %s --mixer %s --set layers=3 --steps 4 "
                                    "--set batch_size=16 --out %s 2>&1",
                                    test_listops(), mixer, folder);
  if (test_run_command("", arguments)) fail_msg("%s:\n%s", mixer, test_output);
  return folder;
}

static double member(const json_t *object, const char *key, size_t index) {
  const json_t *list = json_object_get(object, key);
  assert_true(index < json_array_size(list));
  return json_number_value(json_array_get(list, index));
}

static json_t *analyzed(const char *folder, const char *more) {
  assert_code(test_filtra("analyze --run %s --json %s", folder, more), 0);
  json_t *root = test_output_json();
  return root;
}

static void check_common(const json_t *root) {
  const json_t *stages = json_object_get(root, "stages"), *stage;
  size_t i;
  assert_int_equal(json_array_size(stages), 4); /* the embedding and three layers */
  json_array_foreach(stages, i, stage) {
    double similarity = json_number_value(json_object_get(stage, "similarity"));
    assert_true(similarity > -1.0 && similarity <= 1.0 && similarity != 0.0);
  }
  assert_int_equal(json_array_size(json_object_get(root, "mixers")), 3);
  json_array_foreach(json_object_get(root, "mixers"), i, stage) {
    /* Short sequences have no frequency in some of the bands: null there. */
    assert_true(member(stage, "response", 0) > 0.0);
    assert_true(member(stage, "response", SPECTRA_BANDS - 1) > 0.0);
  }
  size_t width = json_array_size(json_object_get(root, "singular_values"));
  assert_int_equal(width, 64);
  assert_true(fabs(member(root, "singular_values", 0) - 1.0) < 1e-12);
  for (i = 1; i < width; i++)
    assert_true(member(root, "singular_values", i) <= member(root, "singular_values", i - 1));
}

TEST(test_agf) {
  json_auto_t *root = analyzed(trained("agf"), "--samples 5 --split test");
  check_common(root);
  assert_int_equal(json_integer_value(json_object_get(root, "samples")), 5);
  const json_t *coefficients = json_object_get(root, "coefficients");
  assert_int_equal(json_array_size(coefficients), 3);
  assert_true(member(json_array_get(coefficients, 1), "values", 0) == 1.0);
  /* At x = 1 Jacobi's P_k^(1,1) is k + 1. */
  const json_t *filters = json_object_get(json_object_get(root, "filters"), "layers");
  double sum = 0.0, gain = member(json_array_get(filters, 2), "gain", 64);
  for (size_t k = 0; k < 6; k++)
    sum += (double)(k + 1) * member(json_array_get(coefficients, 2), "values", k);
  assert_true(fabs(gain - sum) < 1e-7);
  /* Filtered singular values, and powers of the matrix, by layer. */
  const json_t *mixer = json_array_get(json_object_get(root, "mixers"), 1);
  assert_int_equal(json_array_size(json_object_get(mixer, "singular_values")), 32);
  assert_true(member(mixer, "singular_values", 0) > member(mixer, "singular_values", 1));
  assert_true(member(mixer, "log10_high_over_low", 8) < member(mixer, "log10_high_over_low", 0));
  assert_true(json_is_null(json_object_get(mixer, "energy")));
}

TEST(test_softmax_page) {
  const char *folder = trained("softmax");
  json_auto_t *root = analyzed(folder, "");
  check_common(root);
  assert_int_equal(json_array_size(json_object_get(root, "coefficients")), 0);
  assert_code(test_filtra("analyze --run %s", folder), 0);
  char *page = test_read(test_path(folder, "analysis.html"), NULL);
  test_page_made(test_path(folder, "analysis.html"));
  assert_non_null(strstr(page, "<svg "));
  assert_null(strstr(page, "http")); /* self-contained */
  assert_null(strstr(page, "nan"));
  assert_non_null(strstr(page, "</html>"));
  free(page);
  /* Another page, in place of an older one, but not of the model or of data. */
  const uint64_t files = test_snapshot(folder);
  assert_prints(test_filtra("analyze %s -o %s/model.safetensors 2>&1", folder, folder), 2,
                "model.safetensors would replace a file that this command did not write");
  assert_true(test_snapshot(folder) == files);
  assert_code(test_filtra("analyze %s --out %s/analysis.html", folder, folder), 0);
  /* Nothing is left of one that cannot be written. */
  const char *other = test_path(folder, "other.html");
  assert_code(test_filtra("analyze --run %s --out %s", folder, other), 0);
  assert_true(ft_file_exists(other));
  assert_prints(test_filtra("analyze --run %s --out %s/no/a.html 2>&1", folder, folder), 2,
                "no/a.html");
}

/* Several runs on one page, and what only some of them have. */
TEST(test_several) {
  char folders[3][256], page[256];
  const char *mixers[] = {"softmax", "gfsa", "plaplacian"};
  for (size_t i = 0; i < 3; i++)
    snprintf(folders[i], sizeof folders[i], "%s", trained(mixers[i]));
  snprintf(page, sizeof page, "%s", test_path(folders[0], "all.html"));
  const char *all = test_text("%s %s %s", folders[0], folders[1], folders[2]);
  assert_code(test_filtra("analyze %s -o %s", all, page), 0);
  owned char *text = test_read(page, NULL);
  test_well_formed(text);
  test_page_made(page);
  assert_null(strstr(text, "nan"));
  assert_non_null(strstr(text, "the bound 2 K"));
  assert_non_null(strstr(text, "eigenvalue of A")); /* GFSA's learned filter */
  assert_non_null(strstr(text, "Their mixers learn no filter"));
  const char *charts = test_path(folders[0], "charts");
  assert_prints(test_filtra("analyze %s -o %s --charts %s", all, page, charts), 0, " charts");
  test_chart_files(
      charts, 14,
      (const char *const[]){"the bound 2 K", "Response of the mixers", "eigenvalue of A", NULL});
  assert_code(test_filtra("analyze %s --json", all), 0);
  json_t *root = test_output_json(), *runs = json_object_get(root, "runs");
  assert_int_equal(json_array_size(runs), 3);
  for (size_t i = 0; i < 3; i++) {
    const json_t *run = json_array_get(runs, i);
    const json_t *mixer = json_array_get(json_object_get(run, "mixers"), 1);
    const json_t *stage = json_array_get(json_object_get(run, "stages"), 3);
    double eigenvalue = json_number_value(json_object_get(mixer, "largest_eigenvalue"));
    double rank = json_number_value(json_object_get(stage, "effective_rank"));
    double low = json_number_value(json_object_get(stage, "low_energy"));
    double high = json_number_value(json_object_get(stage, "high_energy"));
    assert_true(i == 2 ? eigenvalue > 0.0 : fabs(eigenvalue - 1.0) < 0.02);
    assert_true(rank >= 1.0 && rank <= 28.0);
    assert_true(low > 0.0 && high > 0.0 && low + high < 1.0);
    assert_true(json_number_value(json_object_get(mixer, "energy")) > 0.0);
    assert_true(member(mixer, "log10_high_over_low", 0) > -2.0);
    assert_true(member(mixer, "gfsa_errors", 0) < 1e-12); /* K = 2 is exact */
    assert_true(member(mixer, "gfsa_errors", 8) > 0.0 && member(mixer, "gfsa_errors", 8) < 20.0);
  }
  json_decref(root);
}

/* ---- maps ---- */

/* Queries and keys along axes: a row's weights are those of its scores' softmax. */
TEST(test_attention) {
  const float q[] = {2, 0, 0, 2}, k[] = {1, 0, 0, 3};
  double a[4];
  const double x = exp(2.0 / sqrt(2.0)), y = exp(6.0 / sqrt(2.0));
  matrix_attention(&(matrix_head){q, k, NULL, 2, 2, 2, NULL}, false, a);
  assert_near(a[0], x / (x + 1.0));
  assert_near(a[3], y / (y + 1.0));
  matrix_attention(&(matrix_head){q, k, NULL, 2, 2, 2, NULL}, true, a);
  assert_near(a[0], 1.0);
  assert_near(a[1], 0.0);
}

/* A run on texts of words. */
static const char *trained_on_words(const char *mixer) {
  static const char texts[] = "text,label\nsuch a good film,x\na bad one,y\nrather good,x\n"
                              "bad and long,y\nas good as it gets,x\nworse than bad,y\n";
  const char *folder = test_new_run(), *data = test_path(test_folder(), "texts.csv");
  test_write(data, texts, sizeof texts - 1);
  assert_code(test_filtra("train --data %s --set tokenizer=words --mixer %s --set layers=2 "
                          "--set max_length=32 "
                          "--set width=8 --set heads=2 --steps 2 --set batch_size=2 --out %s",
                          data, mixer, folder),
              0);
  return folder;
}

static void check_map(const json_t *map, size_t tokens) {
  const json_t *rows = json_object_get(map, "weights"), *row;
  size_t i;
  assert_int_equal(json_array_size(rows), tokens);
  json_array_foreach(rows, i, row) {
    double sum = 0.0;
    for (size_t j = 0; j < tokens; j++)
      sum += json_real_value(json_array_get(row, j));
    assert_true(fabs(sum - 1.0) < 1e-6);
  }
}

/* Of chosen samples the weights of each layer and head, with the tokens' texts. */
TEST(test_maps) {
  const char *folder = trained_on_words("gfsa"), *charts = test_path(folder, "charts");
  json_auto_t *root = analyzed(folder, "--split train --maps 4,1,4");
  const json_t *samples = json_object_get(root, "attention");
  assert_int_equal(json_array_size(samples), 2);
  const json_t *last = json_array_get(samples, 1), *maps = json_object_get(last, "maps");
  assert_int_equal(json_integer_value(json_object_get(last, "sample")), 4);
  const size_t tokens = json_array_size(json_object_get(last, "tokens"));
  const char *first = json_string_value(json_array_get(json_object_get(last, "tokens"), 0));
  assert_true(tokens >= 2 && *first);
  assert_int_equal(json_array_size(maps), 4); /* two layers of two heads */
  for (size_t i = 0; i < 4; i++)
    check_map(json_array_get(maps, i), tokens);
  assert_code(test_filtra("analyze %s --split train --maps 1,4 --charts %s", folder, charts), 0);
  test_chart_files(charts, 8,
                   (const char *const[]){"Sample 4, layers.1.mixer, head 1", first, NULL});
  owned char *page = test_read(test_path(folder, "analysis.html"), NULL);
  test_well_formed(page);
  test_page_made(test_path(folder, "analysis.html"));
  assert_non_null(strstr(page, "Attention in chosen samples"));
  assert_prints(test_filtra("analyze %s --split train --maps 5 2>&1", folder), 2,
                "there is no sample 5; train has 0 to 4");
}

TEST(test_mixers_without_maps) {
  const char *folder = trained_on_words("agf");
  json_auto_t *root = analyzed(folder, "--split train --maps 0");
  const json_t *sample = json_array_get(json_object_get(root, "attention"), 0);
  assert_int_equal(json_array_size(json_object_get(sample, "maps")), 0);
  assert_code(test_filtra("analyze %s --split train --maps 0", folder), 0);
  owned char *page = test_read(test_path(folder, "analysis.html"), NULL);
  assert_non_null(strstr(page, "The mixer agf forms no matrix of tokens by tokens"));
  assert_non_null(strstr(page, "AGF's matrix is made without an attention matrix A"));
  assert_null(strstr(page, "Errors of powers of A are looked at up to 256 tokens"));
}

/* The first samples of the split are measured, though the first of all is longer than the others
 * and so in another batch than they. */
TEST(test_first_samples) {
  static const char head[] =
      "text,label\na very long one that goes on and on and on and never comes "
      "to any end at all,x\nrather short,y\n";
  const char *folder = trained_on_words("softmax");
  const char *first = test_path(test_folder(), "first.csv"), *all = test_path(folder, "all.csv");
  test_write(first, head, sizeof head - 1);
  const char *whole = test_text("%sa one,x\na two,y\na three,x\na four,y\n", head);
  test_write(all, whole, strlen(whole));
  json_auto_t *some = analyzed(folder, test_text("--split test --samples 2 --data %s", all));
  json_auto_t *wanted = analyzed(folder, test_text("--split test --samples 2 --data %s", first));
  assert_int_equal(json_integer_value(json_object_get(some, "samples")), 2);
  assert_true(json_equal(json_object_get(some, "stages"), json_object_get(wanted, "stages")));
}

TEST(test_moved_data) {
  const char *folder = trained_on_words("softmax");
  json_auto_t *config = json_load_file(test_path(folder, "config.json"), 0, NULL);
  const char *data = json_string_value(json_object_get(config, "data"));
  assert_int_equal(remove(data), 0);
  assert_prints(test_filtra("analyze %s 2>&1", folder), 2,
                test_text("%s, the data that %s was trained on, is no longer there: name other "
                          "data (--data PATH)",
                          data, folder));
}

/* Images in moved windows and two stages: each layer has its energies, and the filter of all its
 * heads, which double. */
TEST(test_windows) {
  enum { SIDE = 12, COUNT = 40 };
  const char *data = test_folder(), *folder = test_new_run();
  test_write_images(data, SIDE, COUNT, 2);
  assert_code(test_filtra("train --data %s --set pixels=grey_features --mixer gfsa --set patch=2 "
                          "--set window=4 --set stages=2,1 --set layers=3 --set heads=1 "
                          "--set width=4 --set positions=relative --steps 2 --set batch_size=8 "
                          "--out %s",
                          data, folder),
              0);
  json_auto_t *root = analyzed(folder, "--split train --maps 0");
  assert_int_equal(json_array_size(json_object_get(root, "stages")), 4);
  const json_t *mixers = json_object_get(root, "mixers"), *mixer;
  size_t i;
  json_array_foreach(mixers, i, mixer) {
    assert_true(isfinite(member(mixer, "response", 0)) && member(mixer, "response", 0) > 0.0);
    assert_false(json_is_number(json_object_get(mixer, "largest_eigenvalue")));
  }
  assert_int_equal(i, 3);
  assert_code(test_filtra("analyze %s --split train --maps 0", folder), 0);
  owned char *page = test_read(test_path(folder, "analysis.html"), NULL);
  test_well_formed(page);
  assert_non_null(strstr(page, "or one that is not shown, as of graphs, windows"));
}

TEST(test_usage) {
  static const struct {
    const char *arguments, *part;
  } cases[] = {{"analyze 2>&1", "which run?"},
               {"analyze --run /dev/null 2>&1", "/dev/null"},
               {"analyze --run nowhere --samples 0 2>&1", "samples"},
               {"analyze --run nowhere --json --out x 2>&1", "not both"},
               {"analyze --run nowhere --split dev 2>&1", "train, val and test"},
               {"analyze nowhere --maps 1,,2 2>&1", "--maps is \"1,,2\", accepted are"},
               {"analyze nowhere x 2>&1", "several runs need --out FILE"}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    int code = test_run_command("", cases[i].arguments);
    if (code != 2 || !strstr(test_output, cases[i].part))
      fail_msg("filtra %s: exit code %d, output:\n%s", cases[i].arguments, code, test_output);
  }
}

TEST_ALSO(test_in_browser)
TEST_MAIN(NULL, test_teardown)

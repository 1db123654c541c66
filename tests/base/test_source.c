#include "base/memory.h"
#include "base/rng.h"
#include "base/source.h"
#include "support/harness.h"

#include <unistd.h>
#include <zlib.h>

enum { BYTES = 300001 };

static unsigned char content[BYTES];

static const char *write_bytes(const void *data, size_t size) {
  static char path[512];
  if (!path[0]) snprintf(path, sizeof path, "%s/data", test_folder());
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(data, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
  return path;
}

/* One gzip member; returns its size. */
static size_t pack(const void *data, size_t size, void *to, size_t capacity) {
  z_stream z = {.next_in = (unsigned char *)data,
                .avail_in = (uInt)size,
                .next_out = to,
                .avail_out = (uInt)capacity};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  deflateEnd(&z);
  return capacity - z.avail_out;
}

/* Reads a file to its end, `step` bytes a call. */
static filtra_status read_all(const char *path, size_t step, unsigned char *to, size_t *count) {
  ft_source *source;
  *count = 0;
  FT_TRY(ft_source_open(path, &source));
  filtra_status status = FILTRA_OK;
  for (size_t got = 1; got > 0 && !status; *count += got)
    status = ft_source_read(source, to + *count, step, &got);
  ft_source_close(&source);
  assert_null(source);
  return status;
}

static void fill_content(void) {
  ft_rng rng = ft_rng_make(7, 7);
  for (size_t i = 0; i < BYTES; i++)
    content[i] = (unsigned char)(i % 3 ? ft_rng_below(&rng, 40) : ft_rng_below(&rng, 256));
}

static void assert_reads(const char *path, size_t size) {
  static const size_t steps[] = {1, 7, 4096, BYTES};
  unsigned char *back = ft_calloc(2 * BYTES + 1, 1);
  size_t count;
  for (size_t i = 0; i < FT_COUNT(steps); i++) {
    assert_ok(read_all(path, steps[i], back, &count));
    assert_int_equal(count, size);
    assert_memory_equal(back, content, size);
  }
  free(back);
}

TEST(test_plain) {
  static const size_t sizes[] = {0, 1, 2, 3, 65536, 65537, BYTES};
  fill_content();
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    assert_reads(write_bytes(content, sizes[i]), sizes[i]);
  content[0] = 0x1f; /* the first byte of gzip, alone */
  assert_reads(write_bytes(content, 1), 1);
}

TEST(test_packed) {
  static const size_t sizes[] = {0, 1, 65536, BYTES};
  unsigned char *packed = ft_calloc(2 * BYTES, 1);
  fill_content();
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    assert_reads(write_bytes(packed, pack(content, sizes[i], packed, 2 * BYTES)), sizes[i]);
  /* Two members, and an empty one between them, are one file. */
  size_t size = pack(content, 1000, packed, 2 * BYTES);
  size += pack(content, 0, packed + size, 2 * BYTES - size);
  size += pack(content + 1000, BYTES - 1000, packed + size, 2 * BYTES - size);
  assert_reads(write_bytes(packed, size), BYTES);
  free(packed);
}

/* A packed file that is cut anywhere, or has another byte anywhere, is refused by name, or gives
 * the same bytes (some of the header says nothing about them). */
TEST(test_damaged) {
  enum { SMALL = 200 };
  unsigned char packed[2 * SMALL], back[4 * SMALL];
  size_t count;
  fill_content();
  size_t size = pack(content, SMALL, packed, sizeof packed);
  for (size_t cut = 2; cut < size; cut++)
    assert_fails(read_all(write_bytes(packed, cut), 64, back, &count), FILTRA_ERROR_INPUT,
                 "data: the gzip data stops before its end");
  for (size_t at = 2; at < size; at++) {
    packed[at] ^= 0x24;
    filtra_status status = read_all(write_bytes(packed, size), 64, back, &count);
    if (status) assert_fails(status, FILTRA_ERROR_INPUT, "gzip data");
    if (!status) assert_true(count == SMALL && !memcmp(back, content, SMALL) && at < 10);
    packed[at] ^= 0x24;
  }
  strcpy((char *)packed + size, "more");
  assert_fails(read_all(write_bytes(packed, size + 4), 64, back, &count), FILTRA_ERROR_INPUT,
               "the gzip data is damaged");
}

/* 72 MiB of zeros in 71 KiB; what ordinary text becomes is far from that. */
TEST(test_bombs) {
  enum { LARGE = 72 << 20 };
  unsigned char *zeros = ft_calloc(LARGE + 1, 1), *packed = ft_calloc(1 << 20, 1);
  size_t count;
  const char *path = write_bytes(packed, pack(zeros, LARGE, packed, 1 << 20));
  assert_fails(read_all(path, 1 << 16, zeros, &count), FILTRA_ERROR_INPUT,
               "becomes more than 20 times as long");
  assert_between(count, 60 << 20, 66 << 20);
  setenv("FILTRA_UNPACKED_TIMES", "1100", 1);
  assert_ok(read_all(path, 1 << 16, zeros, &count));
  assert_int_equal(count, LARGE);
  setenv("FILTRA_UNPACKED_TIMES", "many", 1); /* no number: as usual */
  assert_fails(read_all(path, 1 << 16, zeros, &count), FILTRA_ERROR_INPUT, "20 times");
  unsetenv("FILTRA_UNPACKED_TIMES");
  free(zeros);
  free(packed);
}

/* What a pipe has is handed out although more may come. */
TEST(test_pipe) {
  int ends[2];
  char back[16];
  size_t got;
  assert_int_equal(pipe(ends), 0);
  ft_source *source;
  assert_ok(ft_source_open_stream(fdopen(ends[0], "rb"), "pipe", &source));
  assert_int_equal(write(ends[1], "one\n", 4), 4);
  assert_ok(ft_source_read(source, back, sizeof back, &got));
  assert_int_equal(got, 4);
  assert_memory_equal(back, "one\n", 4);
  close(ends[1]);
  assert_ok(ft_source_read(source, back, sizeof back, &got));
  assert_int_equal(got, 0);
  ft_source_close(&source);
}

TEST(test_no_file) {
  ft_source *source;
  assert_fails(ft_source_open(test_folder(), &source), FILTRA_ERROR_PATH, "not a regular file");
  assert_null(source);
}

TEST_MAIN(NULL, test_teardown)

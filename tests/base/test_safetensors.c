/* safetensors: round trips, the golden files of another writer, and damaged files. */
#include "support/harness.h"
#include "support/run.h"
#include "support/starving.h"

#include "base/file.h"
#include "base/safetensors.h"

#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>

static const float f32[6] = {1, -2, 3.5f, 0, 1e-30f, 6};
static const double f64[2] = {0.1, -1e300};
static const int32_t i32[3] = {1, -2, INT32_MAX};
static const uint16_t f16[3] = {0x3c00, 0xc000, 0x7c00};
static const uint8_t u8[3] = {0, 1, 255};

static filtra_status fill_i32(void *user, const ft_safetensor *tensor, void *to) {
  assert_string_equal(tensor->name, "in.\xc3\xa9");
  if (!user) return ft_fail(FILTRA_ERROR_DEVICE_LOST, "gone");
  memcpy(to, user, sizeof i32);
  return FILTRA_OK;
}

enum { TENSORS = 8 };
static const ft_safetensor tensors[TENSORS] = {
    {.name = "w", .dtype = FILTRA_F32, .ndim = 2, .shape = {2, 3}, .data = f32},
    {.name = "in.\xc3\xa9",
     .dtype = FILTRA_I32,
     .ndim = 1,
     .shape = {3},
     .fill = fill_i32,
     .user = (void *)i32},
    {.name = "d", .dtype = FILTRA_F64, .ndim = 1, .shape = {2}, .data = f64},
    {.name = "empty", .dtype = FILTRA_F32, .ndim = 2, .shape = {1, 0}, .data = f32},
    {.name = "scalar", .dtype = FILTRA_F32, .ndim = 0, .data = f32 + 2},
    {.name = "half", .dtype = FILTRA_F16, .ndim = 1, .shape = {3}, .data = f16},
    {.name = "brain", .dtype = FILTRA_BF16, .ndim = 1, .shape = {3}, .data = f16},
    {.name = "byte", .dtype = FILTRA_U8, .ndim = 1, .shape = {3}, .data = u8},
};
static const ft_safetensors_meta_pair meta[] = {{"op", "agf"}, {"quoted", "\"\\\n\xc3\xa9"}};

static void assert_tensor(const ft_safetensors *file, const char *name, filtra_dtype dtype,
                          int ndim, const void *data, uint64_t bytes) {
  const ft_safetensor *t = ft_safetensors_find(file, name);
  assert_non_null(t);
  assert_string_equal(t->name, name);
  assert_int_equal(t->dtype, dtype);
  assert_int_equal(t->ndim, ndim);
  assert_int_equal(t->bytes, bytes);
  assert_int_equal((uintptr_t)t->data % filtra_dtype_bytes(dtype), 0);
  assert_memory_equal(t->data, data, bytes);
}

TEST(test_round_trip) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors");
  assert_ok(ft_safetensors_write(path, tensors, TENSORS, meta, FT_COUNT(meta)));
  ft_safetensors *file;
  assert_ok(ft_safetensors_open(path, &file));
  assert_int_equal(ft_safetensors_count(file), TENSORS);
  assert_tensor(file, "w", FILTRA_F32, 2, f32, sizeof f32);
  assert_tensor(file, "in.\xc3\xa9", FILTRA_I32, 1, i32, sizeof i32);
  assert_tensor(file, "d", FILTRA_F64, 1, f64, sizeof f64);
  assert_tensor(file, "empty", FILTRA_F32, 2, f32, 0);
  assert_tensor(file, "scalar", FILTRA_F32, 0, f32 + 2, 4);
  assert_tensor(file, "half", FILTRA_F16, 1, f16, sizeof f16);
  assert_tensor(file, "brain", FILTRA_BF16, 1, f16, sizeof f16);
  assert_tensor(file, "byte", FILTRA_U8, 1, u8, sizeof u8);
  assert_int_equal(ft_safetensors_find(file, "w")->shape[1], 3);
  assert_int_equal(ft_safetensors_find(file, "empty")->shape[1], 0);
  assert_string_equal(ft_safetensors_at(file, 0)->name, "d"); /* the widest first */
  assert_null(ft_safetensors_at(file, TENSORS));
  assert_null(ft_safetensors_find(file, "v"));
  assert_null(ft_safetensors_find(file, "__metadata__"));
  for (size_t i = 0; i < FT_COUNT(meta); i++)
    assert_string_equal(ft_safetensors_meta(file, meta[i].key), meta[i].value);
  assert_null(ft_safetensors_meta(file, "w"));
  ft_safetensors_close(&file);
  assert_null(file);
  ft_safetensors_close(&file);

  assert_ok(ft_safetensors_write(path, NULL, 0, NULL, 0));
  assert_ok(ft_safetensors_open(path, &file));
  assert_int_equal(ft_safetensors_count(file), 0);
  assert_null(ft_safetensors_meta(file, "op"));
  ft_safetensors_close(&file);
}

/* The layout that other readers rely on, byte by byte. */
TEST(test_layout) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors"), *bytes = NULL;
  ft_safetensor t = tensors[4];
  assert_ok(ft_safetensors_write(path, &t, 1, meta, 1));
  /* The sum was computed by another program's CRC-32, over the file with eight zeros there. */
  static const char header[] =
      "{\"__metadata__\":{\"filtra.crc32\":\"94e4e75d\",\"op\":\"agf\"},"
      "\"scalar\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}";
  size_t size, length = (strlen(header) + 7) / 8 * 8;
  assert_ok(ft_file_read(path, 1000, &bytes, &size));
  assert_int_equal(size, 8 + length + 4);
  assert_int_equal((unsigned char)bytes[0], length);
  assert_memory_equal(bytes + 1, "\0\0\0\0\0\0\0", 7);
  assert_memory_equal(bytes + 8, header, strlen(header));
  for (size_t i = strlen(header); i < length; i++)
    assert_int_equal(bytes[8 + i], ' ');
  assert_memory_equal(bytes + 8 + length, f32 + 2, 4);
}

TEST(test_refused_writes) {
  const char *folder = test_folder();
  owned char *path = ft_path_join(folder, "a.safetensors");
  ft_safetensor twice[] = {tensors[0], tensors[0]};
  ft_safetensor t = tensors[0];
  const struct {
    const char *name;
    int ndim;
    int64_t extent;
    const void *data;
    const char *message;
  } cases[] = {{"__metadata__", 1, 1, f32, "reserved"},
               {"\xff", 1, 1, f32, "not UTF-8"},
               {"a", 9, 1, f32, "9 dimensions"},
               {"a", 1, -1, f32, "dimension 0 is -1"},
               {"a", 1, INT64_MAX, f32, "more elements than can be counted"},
               {"a", 1, 1, NULL, "neither data nor fill"}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    t.name = cases[i].name;
    t.ndim = cases[i].ndim;
    t.shape[0] = cases[i].extent;
    t.data = cases[i].data;
    assert_fails(ft_safetensors_write(path, &t, 1, NULL, 0), FILTRA_ERROR_ARGUMENT,
                 cases[i].message);
  }
  assert_fails(ft_safetensors_write(path, twice, 2, NULL, 0), FILTRA_ERROR_ARGUMENT, "tensor w");
  t = tensors[1];
  t.user = NULL;
  assert_fails(ft_safetensors_write(path, &t, 1, NULL, 0), FILTRA_ERROR_DEVICE_LOST, "gone");
  assert_fails(ft_safetensors_write(path, NULL, 0, &(ft_safetensors_meta_pair){"k", "\xff"}, 1),
               FILTRA_ERROR_ARGUMENT, "metadata k");
  assert_fails(ft_safetensors_write("/dev/null/a", tensors, TENSORS, NULL, 0), FILTRA_ERROR_PATH,
               "/dev/null/a");
  char **names;
  size_t count;
  assert_ok(ft_list_directory(folder, &names, &count));
  assert_int_equal(count, 0); /* not even a temporary file */
  free(names);
}

/* A limit on file sizes stands for a full disk. */
TEST(test_full_disk) {
  const char *folder = test_folder();
  char *path = ft_path_join(folder, "a.safetensors"), **names;
  struct rlimit before, small;
  size_t count;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  for (rlim_t limit = 1; limit < 1000; limit += 300) {
    small = before;
    small.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    filtra_status status = ft_safetensors_write(path, tensors, TENSORS, NULL, 0);
    setrlimit(RLIMIT_FSIZE, &before);
    if (!status && limit > 300) break; /* it fits */
    assert_fails(status, FILTRA_ERROR_IO, "File too large");
    assert_non_null(strstr(filtra_error_message(), path));
    assert_ok(ft_list_directory(folder, &names, &count));
    assert_int_equal(count, 0);
    free(names);
  }
  signal(SIGXFSZ, SIG_DFL);
  free(path);
}

/* ---- damaged files ---- */

TEST(test_every_truncation_fails) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors"), *bytes = NULL;
  assert_ok(ft_safetensors_write(path, tensors, TENSORS, meta, FT_COUNT(meta)));
  size_t size;
  assert_ok(ft_file_read(path, 10000, &bytes, &size));
  ft_safetensors *file;
  for (size_t length = 0; length < size; length++) {
    assert_ok(ft_file_write(path, bytes, length));
    assert_fails(ft_safetensors_open(path, &file), FILTRA_ERROR_INPUT, path);
    assert_null(file);
  }
  assert_ok(ft_file_write(path, bytes, size));
  assert_ok(ft_safetensors_open(path, &file));
  ft_safetensors_close(&file);
}

/* Every byte of the header changed in several ways: read or refused, but never a crash. */
TEST(test_changed_bytes) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors"), *bytes = NULL;
  assert_ok(ft_safetensors_write(path, tensors, TENSORS, meta, FT_COUNT(meta)));
  size_t size, refused = 0;
  assert_ok(ft_file_read(path, 10000, &bytes, &size));
  static const char other[] = {0, '\xff', '"', '9', '-', '}', ' '};
  for (size_t i = 0; i < size - 80; i++) {
    char kept = bytes[i];
    for (size_t k = 0; k < FT_COUNT(other); k++) {
      bytes[i] = other[k];
      FILE *stream = fopen(path, "wb"); /* thousands of times: without waiting for the disk */
      assert_non_null(stream);
      assert_int_equal(fwrite(bytes, 1, size, stream), size);
      fclose(stream);
      ft_safetensors *file;
      filtra_status status = ft_safetensors_open(path, &file);
      assert_true(!status || status == FILTRA_ERROR_INPUT);
      if (status) refused++;
      ft_safetensors_close(&file);
    }
    bytes[i] = kept;
  }
  assert_true(refused > 1000);
}

/* Whichever bit of a file flips, in data and names of values alike, reading it fails. */
TEST(test_flipped_bits) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors"), *bytes = NULL;
  assert_ok(ft_safetensors_write(path, tensors, TENSORS, meta, FT_COUNT(meta)));
  size_t size;
  assert_ok(ft_file_read(path, 10000, &bytes, &size));
  size_t key = (size_t)(strstr(bytes + 8, "filtra.crc32") - bytes);
  for (size_t bit = 0; bit < size * 8; bit++) {
    ft_safetensors *file;
    if (bit / 8 >= key && bit / 8 < key + strlen("filtra.crc32")) continue; /* then it has no sum */
    bytes[bit / 8] ^= (char)(1 << bit % 8);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    fclose(stream);
    assert_fails(ft_safetensors_open(path, &file), FILTRA_ERROR_INPUT, path);
    bytes[bit / 8] ^= (char)(1 << bit % 8);
  }
}

static filtra_status open_made(const char *path, const char *header, uint64_t header_size,
                               size_t data_size) {
  size_t length = strlen(header);
  char *bytes = ft_calloc(8 + length + data_size, 1);
  memcpy(bytes, &header_size, 8);
  memcpy(bytes + 8, header, length);
  for (size_t i = 0; i < data_size; i++)
    bytes[8 + length + i] = (char)i;
  assert_ok(ft_file_write(path, bytes, 8 + length + data_size));
  free(bytes);
  ft_safetensors *file;
  filtra_status status = ft_safetensors_open(path, &file);
  ft_safetensors_close(&file);
  return status;
}

#define TENSOR(name, dtype, shape, offsets)                                                        \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static const struct {
  const char *header;
  size_t data_size;
  const char *message; /* NULL: accepted */
} made[] = {
    {"{}", 0, NULL},
    {"{" TENSOR("a", "F32", "2", "0,8") "}   ", 8, NULL},
    {"{" TENSOR("b", "F32", "1", "4,8") "," TENSOR("a", "F32", "1", "0,4") "}", 8, NULL},
    {"{" TENSOR("b", "F32", "1,0", "4,4") "," TENSOR("a", "F32", "1", "0,4") "}", 4, NULL},
    {"{" TENSOR("a", "I32", "1,1,1,1,1,1,1,1", "0,4") "}", 4, NULL},
    {"{\"__metadata__\":{}}", 0, NULL},
    {"{}", 1, "tensors end at data byte 0, the file has 1"},
    {"{" TENSOR("a", "F32", "2", "0,8") "}", 9, "tensors end at data byte 8, the file has 9"},
    {"{" TENSOR("a", "F32", "2", "0,8") "}", 7, "tensor a: data_offsets [0, 8] do not lie in"},
    {"{" TENSOR("a", "F32", "2", "4,12") "}", 12, "tensor a begins at data byte 4, leaving a gap"},
    {"{" TENSOR("a", "F32", "1", "0,4") "," TENSOR("b", "F32", "1", "8,12") "}", 12, "gap"},
    {"{" TENSOR("a", "F32", "2", "0,8") "," TENSOR("b", "F32", "1", "4,8") "}", 8, "inside"},
    {"{" TENSOR("a", "F32", "2", "0,8") "," TENSOR("b", "F32", "2", "0,8") "}", 8, "inside"},
    {"{" TENSOR("a", "F32", "2", "0,8") "," TENSOR("b", "F32", "0", "4,4") "}", 8, "inside"},
    {"{" TENSOR("a", "F32", "1", "0,4") "," TENSOR("a", "F32", "1", "4,8") "}", 8, "duplicate"},
    {"{" TENSOR("a", "F32", "1", "4,0") "}", 4, "data_offsets [4, 0]"},
    {"{" TENSOR("a", "F32", "1", "-4,0") "}", 4, "data_offsets [-4, 0]"},
    {"{" TENSOR("a", "F32", "1", "0,4.0") "}", 4, "pair of whole numbers"},
    {"{" TENSOR("a", "F32", "1", "0") "}", 4, "pair of whole numbers"},
    {"{" TENSOR("a", "F32", "1", "0,4,4") "}", 4, "pair of whole numbers"},
    {"{" TENSOR("a", "F32", "3", "0,8") "}", 8, "tensor a: shape and F32 need 12 bytes"},
    {"{" TENSOR("a", "F64", "2", "0,8") "}", 8, "shape and F64 need 16 bytes"},
    {"{" TENSOR("a", "F32", "4294967296,4294967296", "0,0") "}", 0, "can be counted"},
    {"{" TENSOR("a", "F32", "4611686018427387904", "0,0") "}", 0, "can be counted"},
    {"{" TENSOR("a", "F32", "9223372036854775808", "0,0") "}", 0, "too big integer"},
    {"{" TENSOR("a", "F32", "-1", "0,4") "}", 4, "dimension 0 of shape"},
    {"{" TENSOR("a", "F32", "\"1\"", "0,4") "}", 4, "dimension 0 of shape"},
    {"{" TENSOR("a", "F32", "1,1,1,1,1,1,1,1,1", "0,4") "}", 4, "9 dimensions, at most 8"},
    {"{" TENSOR("h", "F16", "2", "0,4") "}", 4, NULL},
    {"{" TENSOR("h", "BF16", "3", "0,4") "}", 4, "tensor h: shape and BF16 need 6 bytes"},
    {"{" TENSOR("h", "F8_E4M3", "4", "0,4") "}", 4, "tensor h: element type F8_E4M3 is not"},
    {"{\"__metadata__\":{\"filtra.crc32\":\"00000000\"}}", 0, "checksum"},
    {"{" TENSOR("h", "X", "2", "0,4") "}", 4, "element type X"},
    {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "shape is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets is missing"},
    {"{\"a\":7}", 0, "its entry is not an object"},
    {"{\"__metadata__\":[]}", 0, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "__metadata__: k is not a string"},
    {"[1]", 0, "does not begin with {"},
    {" {}", 0, "does not begin with {"},
    {"{\"a\":", 0, "header:1:"},
    {"{} {}", 0, "header:1:"},
};

TEST(test_made_headers) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors");
  for (size_t i = 0; i < FT_COUNT(made); i++) {
    filtra_status status =
        open_made(path, made[i].header, strlen(made[i].header), made[i].data_size);
    if (!made[i].message) {
      assert_ok(status);
      continue;
    }
    assert_fails(status, FILTRA_ERROR_INPUT, made[i].message);
    assert_non_null(strstr(filtra_error_message(), path));
  }
  static const uint64_t lengths[] = {0,          3,         1000,           100000001,
                                     UINT32_MAX, INT64_MAX, UINT64_MAX - 7, UINT64_MAX};
  for (size_t i = 0; i < FT_COUNT(lengths); i++)
    assert_fails(open_made(path, "{}", lengths[i], 0), FILTRA_ERROR_INPUT,
                 "not a safetensors file");
}

/* What a clone without Git LFS has in place of a model. */
TEST(test_pointer) {
  static const char POINTER[] =
      "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
  ft_safetensors *file;
  owned char *path = ft_path_join(test_folder(), "a.safetensors");
  test_write(path, POINTER, sizeof POINTER - 1);
  assert_fails(ft_safetensors_open(path, &file), FILTRA_ERROR_INPUT, "a pointer of Git LFS");
  assert_null(file);
}

/* A header is not much longer than the data that it speaks of. */
TEST(test_large_headers) {
  enum { LARGE = 5 << 20 };
  owned char *path = ft_path_join(test_folder(), "a.safetensors"),
             *header = ft_calloc(LARGE + 1, 1);
  memset(header, ' ', LARGE);
  memcpy(header, "{}", 2);
  assert_fails(open_made(path, header, LARGE, 0), FILTRA_ERROR_INPUT,
               "a header of 5242880 bytes for 0 bytes of data; at most 4194304 are accepted");
  setenv("FILTRA_HEADER_BYTES", "5242880", 1);
  assert_ok(open_made(path, header, LARGE, 0));
  unsetenv("FILTRA_HEADER_BYTES");
  memset(header, 'x', LARGE); /* what could not be read is not written */
  const ft_safetensors_meta_pair pair = {"key", header};
  assert_fails(ft_safetensors_write(path, NULL, 0, &pair, 1), FILTRA_ERROR_ARGUMENT, "a header of");
  int length = snprintf(header, 128, "{%s}", TENSOR("a", "U8", "2000000", "0,2000000"));
  memset(header + length, ' ', LARGE - (size_t)length);
  assert_ok(open_made(path, header, LARGE, 2000000));
}

/* Headers of any length and narrow tensors before wide ones are legal: data is realigned. */
TEST(test_unaligned_data) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors");
  for (int spaces = 0; spaces < 8; spaces++) {
    char header[256];
    int length = snprintf(header, sizeof header, "{%s,%s}%*s", TENSOR("a", "F32", "1", "0,4"),
                          TENSOR("b", "F64", "1", "4,12"), spaces, "");
    assert_ok(open_made(path, header, (uint64_t)length, 12));
    ft_safetensors *file;
    static const unsigned char bytes[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    assert_ok(ft_safetensors_open(path, &file));
    assert_tensor(file, "a", FILTRA_F32, 1, bytes, 4);
    assert_tensor(file, "b", FILTRA_F64, 1, bytes + 4, 8);
    ft_safetensors_close(&file);
  }
}

TEST(test_allocation_failures) {
  owned char *path = ft_path_join(test_folder(), "a.safetensors");
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    ft_safetensors *file = NULL;
    ft_memory_fail_after(n);
    status = ft_safetensors_write(path, tensors, TENSORS, meta, FT_COUNT(meta));
    if (!status) status = ft_safetensors_open(path, &file);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    ft_safetensors_close(&file);
  }
}

/* Names are never at fault for want of memory. */
TEST(test_headers_without_memory) {
  long n = 1;
  for (;; n++) {
    void *bytes;
    size_t size;
    test_starve(n, false);
    filtra_status status =
        ft_safetensors_write_memory(tensors, TENSORS, meta, FT_COUNT(meta), &bytes, &size);
    const bool starved = test_feed();
    if (!status) {
      free(bytes);
      if (!starved) break;
      continue;
    }
    assert_fails(status, FILTRA_ERROR_HOST_MEMORY, "memory");
  }
  assert_true(n > 20);
}

TEST(test_golden_files) {
  const char *path = test_golden("dhhp_n1c5"); /* with zero-length tensors */
  if (!path) skip();
  ft_safetensors *file;
  assert_ok(ft_safetensors_open(path, &file));
  assert_string_equal(ft_safetensors_meta(file, "case"), "dhhp_n1c5");
  size_t empty = 0;
  for (size_t i = 0; i < ft_safetensors_count(file); i++)
    if (!ft_safetensors_at(file, i)->bytes) empty++;
  assert_true(empty > 0);
  ft_safetensors_close(&file);
}

TEST_MAIN(NULL, test_teardown)

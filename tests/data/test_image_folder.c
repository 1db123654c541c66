/* PNG and JPEG files: decoding, folders of them per class, and folders with a table of labels. */
#include "base/memory.h"
#include "data/image_file.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <sys/stat.h>

#if defined(FT_WITH_PNG) && defined(FT_WITH_JPEG)

#include <jpeglib.h>
#include <png.h>
#include <sys/resource.h>

enum { W = 6, H = 5 };

/* ---- writing ---- */

typedef struct png_kind {
  int type, bits;
  bool interlaced, transparent; /* with a tRNS chunk */
} png_kind;

static int samples_of(int type) {
  return type == PNG_COLOR_TYPE_RGB          ? 3
         : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
         : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                             : 1;
}

/* Sample c of a pixel, before scaling to the bit depth. */
static unsigned sample_of(int x, int y, int c) {
  return (unsigned)(x * 41 + y * 17 + c * 67) & 255;
}

static void put_sample(uint8_t *row, size_t index, int bits, unsigned value) {
  if (bits == 16) {
    row[2 * index] = (uint8_t)value;
    row[2 * index + 1] = (uint8_t)value;
  } else if (bits == 8) {
    row[index] = (uint8_t)value;
  } else {
    unsigned shift = 8 - (unsigned)bits * (unsigned)(index % (8 / (size_t)bits) + 1);
    row[index * (size_t)bits / 8] |= (uint8_t)((value >> (8 - bits)) << shift);
  }
}

static void write_png(const char *path, int width, int height, png_kind kind) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, stream);
  png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, kind.bits, kind.type,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
  png_color palette[256];
  png_byte alpha[256];
  for (int i = 0; i < 256; i++) {
    palette[i] = (png_color){(png_byte)i, (png_byte)(255 - i), (png_byte)(i ^ 85)};
    alpha[i] = (png_byte)(255 - i / 2);
  }
  if (kind.type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 1 << kind.bits);
  if (kind.transparent) png_set_tRNS(png, info, alpha, 1 << kind.bits, NULL);
  owned uint8_t *data = ft_calloc((size_t)height, (size_t)width * 8);
  owned png_bytep *rows = ft_calloc((size_t)height, sizeof *rows);
  int samples = samples_of(kind.type);
  for (int y = 0; y < height; y++) {
    rows[y] = data + (size_t)y * (size_t)width * 8;
    for (int i = 0; i < width * samples; i++)
      put_sample(rows[y], (size_t)i, kind.bits, sample_of(i / samples, y, i % samples));
  }
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, NULL);
  png_destroy_write_struct(&png, &info);
  assert_int_equal(fclose(stream), 0);
}

static void write_grey(const char *path, int width, int height) {
  write_png(path, width, height, (png_kind){PNG_COLOR_TYPE_GRAY, 8});
}

static void write_jpeg(const char *path, int width, int height, int components, bool progressive) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, stream);
  jpeg.image_width = (JDIMENSION)width;
  jpeg.image_height = (JDIMENSION)height;
  jpeg.input_components = components;
  jpeg.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  owned uint8_t *row = ft_calloc((size_t)width, (size_t)components);
  for (int y = 0; y < height; y++) {
    for (int i = 0; i < width * components; i++)
      row[i] = (uint8_t)(8 * (i / components) + 5 * y);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  assert_int_equal(fclose(stream), 0);
}

static void make_folder(const char *path) {
  assert_int_equal(mkdir(path, 0700), 0);
}

static filtra_status try_load(const char *path) {
  ft_image image;
  filtra_status status = ft_image_load(path, &image);
  free(image.pixels);
  return status;
}

/* The file's decoder on bytes in memory. */
static filtra_status try_decode(bool png, const char *data, size_t size) {
  ft_image image = {0};
  filtra_status status = png ? ft_image_decode_png((const uint8_t *)data, size, &image)
                             : ft_image_decode_jpeg((const uint8_t *)data, size, &image);
  free(image.pixels);
  return status;
}

/* ---- decoding ---- */

/* What 8 bits come to at a depth of `bits`. */
static unsigned at_depth(unsigned value, int bits) {
  return bits >= 8 ? value : (value >> (8 - bits)) * 255u / ((1u << bits) - 1);
}

static unsigned expected_sample(png_kind kind, int x, int y, int c) {
  if (kind.type == PNG_COLOR_TYPE_PALETTE) {
    unsigned i = sample_of(x, y, 0) >> (8 - kind.bits);
    unsigned value = c == 0 ? i : c == 1 ? 255 - i : i ^ 85;
    return kind.transparent ? (value * (255 - i / 2) + 127) / 255 : value;
  }
  int samples = samples_of(kind.type);
  unsigned value = at_depth(sample_of(x, y, c), kind.bits);
  return samples % 2 ? value : (value * sample_of(x, y, samples - 1) + 127) / 255;
}

/* 41 bytes that speak of a text of 2 GB took as much memory. */
TEST(test_png_of_few_bytes) {
  static const char bytes[] =
      "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\4\0\0\0\4\b\0\0\0\0\x8c\x9a\xc1\xa2"
      "\x79\1\0\0tEXt";
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  assert_int_equal(try_decode(true, bytes, sizeof bytes - 1), FILTRA_ERROR_INPUT);
  assert_non_null(strstr(filtra_error_message(), "ends too early"));
  char more[sizeof bytes + 20] = {0};
  memcpy(more, bytes, sizeof bytes - 1);
  assert_int_equal(try_decode(true, more, sizeof more), FILTRA_ERROR_INPUT);
  getrusage(RUSAGE_SELF, &after);
  assert_true(after.ru_maxrss - before.ru_maxrss < 65536); /* KiB */
  assert_non_null(strstr(filtra_error_message(), "chunk at byte 33 says that it has 2030108672"));
}

TEST(test_png_kinds) {
  static const png_kind kinds[] = {
      {PNG_COLOR_TYPE_GRAY, 1},
      {PNG_COLOR_TYPE_GRAY, 2},
      {PNG_COLOR_TYPE_GRAY, 4},
      {PNG_COLOR_TYPE_GRAY, 8},
      {PNG_COLOR_TYPE_GRAY, 8, true},
      {PNG_COLOR_TYPE_GRAY, 16},
      {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
      {PNG_COLOR_TYPE_RGB, 8},
      {PNG_COLOR_TYPE_RGB, 8, true},
      {PNG_COLOR_TYPE_RGB, 16},
      {PNG_COLOR_TYPE_RGB_ALPHA, 8},
      {PNG_COLOR_TYPE_PALETTE, 1},
      {PNG_COLOR_TYPE_PALETTE, 4},
      {PNG_COLOR_TYPE_PALETTE, 8},
      {PNG_COLOR_TYPE_PALETTE, 8, true, true},
  };
  const char *path = test_path(test_folder(), "a.png");
  for (size_t k = 0; k < FT_COUNT(kinds); k++) {
    ft_image image;
    write_png(path, W, H, kinds[k]);
    assert_ok(ft_image_load(path, &image));
    bool grey = kinds[k].type == PNG_COLOR_TYPE_GRAY || kinds[k].type == PNG_COLOR_TYPE_GRAY_ALPHA;
    assert_int_equal(image.width, W);
    assert_int_equal(image.height, H);
    assert_int_equal(image.channels, grey ? 1 : 3);
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++)
        for (int c = 0; c < (int)image.channels; c++)
          assert_int_equal(image.pixels[(y * W + x) * (int)image.channels + c],
                           expected_sample(kinds[k], x, y, c));
    free(image.pixels);
  }
}

TEST(test_jpeg_kinds) {
  const char *path = test_path(test_folder(), "a.jpg");
  for (int k = 0; k < 4; k++) {
    int components = k < 2 ? 1 : 3;
    ft_image image;
    write_jpeg(path, 9, 17, components, k % 2);
    assert_ok(ft_image_load(path, &image));
    assert_int_equal(image.width, 9);
    assert_int_equal(image.height, 17);
    assert_int_equal(image.channels, components);
    for (int y = 0; y < 17; y++)
      for (int i = 0; i < 9 * components; i++)
        assert_between(image.pixels[y * 9 * components + i] + 4, 8 * (i / components) + 5 * y,
                       8 * (i / components) + 5 * y + 8);
    free(image.pixels);
  }
}

/* Every cut ends in an error; a changed byte in one or in an image of the checked size. */
TEST(test_damaged_at_every_byte) {
  const char *folder = test_folder();
  const char *paths[] = {test_path(folder, "a.png"), test_path(folder, "b.jpg"),
                         test_path(folder, "c.jpg")};
  write_png(paths[0], W, H, (png_kind){PNG_COLOR_TYPE_PALETTE, 8, true, true});
  write_jpeg(paths[1], 9, 9, 3, false);
  write_jpeg(paths[2], 9, 9, 3, true);
  for (int f = 0; f < 3; f++) {
    size_t size;
    owned char *data = test_read(paths[f], &size);
    /* A JPEG's last two bytes mark an end that is plain without them. */
    for (size_t i = 0; i < size - (f > 0 ? 2 : 0); i++)
      assert_fails(try_decode(f == 0, data, i), FILTRA_ERROR_INPUT, f == 0 ? "PNG" : "JPEG");
    test_write(paths[f], data, size / 2);
    assert_fails(try_load(paths[f]), FILTRA_ERROR_INPUT, paths[f]);
    for (size_t i = 0; i < size; i++)
      for (int change = 1; change < 256; change = 3 * change + 1) {
        data[i] ^= (char)change;
        filtra_status status = try_decode(f == 0, data, size);
        assert_true(status == FILTRA_OK || status == FILTRA_ERROR_INPUT);
        data[i] ^= (char)change;
      }
  }
}

/* A header that promises much is refused before room is made for it. */
TEST(test_bombs) {
  static const struct {
    png_uint_32 width, height;
  } sizes[] = {{0x7fffffff, 0x7fffffff}, {0x7fffffff, 1}, {1, 1 << 23}, {2509, 2508}};
  const char *path = test_path(test_folder(), "bomb.png");
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    FILE *stream = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, stream);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(png, info, sizes[i].width, sizes[i].height, 8, PNG_COLOR_TYPE_GRAY, 0, 0, 0);
    png_write_info(png, info);
    png_write_chunk(png, (png_const_bytep) "IDAT", (png_const_bytep) "\x78\x9c\x63\0\0\0\1\0\1", 9);
    png_destroy_write_struct(&png, &info);
    assert_int_equal(fclose(stream), 0);
    assert_fails(try_load(path), FILTRA_ERROR_INPUT,
                 "pixels are accepted: 6 Mi, and 2 for each byte");
  }
  const char *jpeg = test_path(test_folder(), "bomb.jpg");
  write_jpeg(jpeg, 8, 8, 1, false);
  size_t size;
  char *data = test_read(jpeg, &size), *frame = memmem(data, size, "\xff\xc0", 2);
  assert_non_null(frame);
  memset(frame + 5, 0xff, 4); /* height and width */
  test_write(jpeg, data, size);
  free(data);
  assert_fails(try_load(jpeg), FILTRA_ERROR_INPUT, "bomb.jpg: ");
}

/* ---- folders ---- */

TEST(test_class_folders) {
  const char *root = test_folder();
  make_folder(test_path(root, "dog"));
  make_folder(test_path(root, "cat"));
  for (int i = 0; i < 12; i++)
    write_grey(test_path(root, test_text("%s/%02d.png", i % 3 ? "dog" : "cat", i)), W, H);
  write_jpeg(test_path(root, "cat/x.JPEG"), W, H, 3, false);
  test_write(test_path(root, "cat/.hidden"), "x", 1);
  test_write(test_path(root, "README"), "x", 1);
  owned_dataset *ds = test_open_dataset(root, NULL, NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(info->format, "image-folder");
  assert_int_equal(info->classes, 2);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "cat");
  assert_string_equal(filtra_dataset_class_name(ds, 1), "dog");
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN], 12);
  assert_int_equal(info->count[FILTRA_SPLIT_VAL], 1);
  assert_int_equal(info->longest, W * H);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TRAIN, 0);
  for (int i = 0; i < W * H; i++)
    assert_int_equal(s.tokens[i], sample_of(i % W, i / W, 0));
  write_grey(test_path(root, "dog/zz.png"), W + 1, H);
  test_refuse_dataset(root, NULL, "dog/zz.png: an image of 7 x 5 pixels; those before have 6 x 5");
  remove(test_path(root, "dog/zz.png"));
  test_write(test_path(root, "dog/zz.png"), "", 0);
  test_refuse_dataset(root, NULL, "dog/zz.png: the file is empty");
  test_write(test_path(root, "dog/zz.png"), "GIF89a", 6);
  test_refuse_dataset(root, NULL, "dog/zz.png: neither PNG nor JPEG");
  rename(test_path(root, "dog/zz.png"), test_path(root, "dog/zz.gif"));
  test_refuse_dataset(root, NULL, "dog/zz.gif: its name does not end in");
  remove(test_path(root, "dog/zz.gif"));
  make_folder(test_path(root, "empty"));
  test_refuse_dataset(root, NULL, "empty holds no files");
}

TEST(test_split_folders) {
  const char *root = test_folder();
  static const char *const folders[] = {"train", "train/b", "train/a", "val",
                                        "val/a", "test",    "test/b"};
  for (size_t i = 0; i < FT_COUNT(folders); i++)
    make_folder(test_path(root, folders[i]));
  write_grey(test_path(root, "train/a/1.png"), W, H);
  write_grey(test_path(root, "train/b/1.png"), W, H);
  write_grey(test_path(root, "train/b/2.png"), W, H);
  write_grey(test_path(root, "val/a/1.png"), W, H);
  write_grey(test_path(root, "test/b/1.png"), W, H);
  owned_dataset *ds = test_open_dataset(root, NULL, NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->classes, 2);
  test_counts(ds, 3, 1, 1);
  assert_false(info->validation_held_out);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 0);
  assert_int_equal(s.label, 1);
  make_folder(test_path(root, "test/c"));
  write_grey(test_path(root, "test/c/1.png"), W, H);
  test_refuse_dataset(root, NULL, "test/c: a class that the splits before");
}

TEST(test_every_allocation_may_fail) {
  const char *root = test_folder();
  make_folder(test_path(root, "a"));
  make_folder(test_path(root, "b"));
  write_grey(test_path(root, "a/1.png"), W, H);
  write_jpeg(test_path(root, "b/1.jpg"), W, H, 3, true);
  test_dataset_memory(root, &(filtra_dataset_options){.format = "image-folder"});
}

/* ---- a table of labels ---- */

TEST(test_label_table) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"id,label\n1,frog\n10,deer\n2,frog\n77,ant\n", NULL},
      {"id,label\r\n1,frog\r\n10,deer\r\n2,frog", NULL},
      {"\"id\",\"label\"\n\"1\",frog\n10,\"deer\"\n2,\"frog\"\n77,\"ant, a \"\"red\"\" one\"\n",
       NULL},
      {"id,label\n1,\"frog\n", "trainLabels.csv:2: a quote that is not closed"},
      {"", "trainLabels.csv has no entries"},
      {"id,label\n", "trainLabels.csv has no entries"},
      {"1,frog\n", "trainLabels.csv:1: the header \"id,label\" is missing"},
      {"id,label\n1,frog\n10\n", "trainLabels.csv:3: not an id and a label"},
      {"id,label\n1,frog\n10,\n", "trainLabels.csv:3: not an id and a label"},
      {"id,label\n1,frog,x\n", "trainLabels.csv:2: not an id and a label"},
      {"id,label\n1,frog\n10,deer\n", "train_tiny/2.png: trainLabels.csv has no label for it"},
      {"id,label\n1,frog\n1,deer\n", "id \"1\" appears twice"},
  };
  const char *root = test_folder();
  make_folder(test_path(root, "train_tiny"));
  static const char *const ids[] = {"1", "2", "10"};
  for (size_t i = 0; i < FT_COUNT(ids); i++)
    write_grey(test_path(root, test_text("train_tiny/%s.png", ids[i])), W, H);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    test_write(test_path(root, "trainLabels.csv"), cases[i].text, strlen(cases[i].text));
    test_refuse_dataset(root, NULL, cases[i].part);
    assert_null(strstr(filtra_error_message(), "quoting")); /* which is for tables */
  }
  test_write(test_path(root, "trainLabels.csv"), cases[0].text, strlen(cases[0].text));
  owned_dataset *ds = test_open_dataset(root, NULL, NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 3);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "ant");
  test_write(test_path(root, "trainLabels.csv"), cases[2].text, strlen(cases[2].text));
  owned_dataset *quoted = test_open_dataset(root, NULL, NULL);
  assert_int_equal(filtra_dataset_get_info(quoted)->classes, 3); /* frog is one class */
  assert_string_equal(filtra_dataset_class_name(quoted, 0), "ant, a \"red\" one");
  assert_string_equal(filtra_dataset_class_name(quoted, 2), "frog");
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], 2);
  static const char all[] = "id,label\n1,a\n2,b\n10,a\n";
  test_write(test_path(root, "trainLabels.csv"), all, sizeof all - 1);
  test_open_warns(root, NULL, "have no image", NULL);
  static const char more[] = "id,label\n1,a\n2,b\n10,a\n7,b\n8,c\n";
  test_write(test_path(root, "trainLabels.csv"), more, sizeof more - 1);
  test_open_warns(root, NULL, "have no image", "trainLabels.csv: 2 of 5 ids have no image in ");
  test_open_warns(root, NULL, "have no image", "train_tiny, such as \"7\": they are left out");
  make_folder(test_path(root, "train2"));
  test_refuse_dataset(root, NULL, "2 folders that begin with \"train\"");
}

TEST_MAIN(NULL, test_teardown)

#else

TEST(test_built_without) {
  print_message("SKIPPED: built without libpng or libjpeg\n");
  ft_image image;
#ifndef FT_WITH_PNG
  assert_fails(ft_image_decode_png(NULL, 0, &image), FILTRA_ERROR_UNSUPPORTED, "without libpng");
#endif
#ifndef FT_WITH_JPEG
  assert_fails(ft_image_decode_jpeg(NULL, 0, &image), FILTRA_ERROR_UNSUPPORTED, "without libjpeg");
#endif
}

TEST_MAIN(NULL, test_teardown)

#endif

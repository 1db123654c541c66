/* Properties of image files beyond plain pixels: orientation, CMYK, headers of unsupported kinds,
 * and folders as people keep them. */
#include "base/file.h"
#include "base/memory.h"
#include "data/image_file.h"
#include "data/orientation.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/images.h"
#include "support/run.h"

#include <sys/stat.h>

#if defined(FT_WITH_PNG) && defined(FT_WITH_JPEG)

#include <jpeglib.h>
#include <zlib.h>

enum { W = 24, H = 16 };

/* ---- writing ---- */

/* A TIFF block with a make and an orientation; `little` endian or big. */
static size_t write_exif(uint8_t *to, bool little, uint8_t orientation) {
  static const uint8_t LITTLE[] = {'I', 'I', 42,  0,   8, 0,    0, 0, 2, 0, 0x0f, 1, 2, 0, 4, 0, 0,
                                   0,   'c', 'a', 'm', 0, 0x12, 1, 3, 0, 1, 0,    0, 0, 0, 0, 0, 0};
  static const uint8_t BIG[] = {'M', 'M', 0,   42,  0, 0, 0,    8, 0, 2, 1, 0x0f, 0, 2, 0, 0, 0,
                                4,   'c', 'a', 'm', 0, 1, 0x12, 0, 3, 0, 0, 0,    1, 0, 0, 0, 0};
  memcpy(to, little ? LITTLE : BIG, sizeof LITTLE);
  to[little ? 30 : 31] = orientation;
  return sizeof LITTLE;
}

/* A file of `components` with the bytes of `line`, with the row's number added in each row. */
typedef struct jpeg_kind {
  int components;
  J_COLOR_SPACE space; /* that the file stores */
  bool adobe;          /* writes Adobe's marker */
  uint8_t exif[64];
  size_t exif_bytes;
  const char *xmp; /* written before EXIF data; NULL: none */
} jpeg_kind;

static void write_jpeg(const char *path, const jpeg_kind *kind, const uint8_t *pixels) {
  static const J_COLOR_SPACE SPACES[] = {0, JCS_GRAYSCALE, 0, JCS_RGB, JCS_CMYK};
  FILE *stream = fopen(path, "wb");
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  assert_non_null(stream);
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, stream);
  jpeg.image_width = W;
  jpeg.image_height = H;
  jpeg.input_components = kind->components;
  jpeg.in_color_space = SPACES[kind->components];
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, kind->space);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.write_Adobe_marker = kind->adobe;
  jpeg_start_compress(&jpeg, TRUE);
  if (kind->xmp) {
    char packet[512] = "http://ns.adobe.com/xap/1.0/";
    size_t name = strlen(packet) + 1;
    strcpy(packet + name, kind->xmp);
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, (const JOCTET *)packet,
                      (unsigned)(name + strlen(kind->xmp)));
  }
  if (kind->exif_bytes)
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, kind->exif, (unsigned)kind->exif_bytes);
  for (int y = 0; y < H; y++) {
    JSAMPROW row = (JSAMPROW)pixels + y * W * kind->components;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  assert_int_equal(fclose(stream), 0);
}

static void put(uint8_t *to, size_t number) {
  for (int i = 0; i < 4; i++)
    to[i] = (uint8_t)(number >> (24 - 8 * i));
}

static size_t put_chunk(uint8_t *to, const char *kind, const uint8_t *content, size_t size) {
  put(to, size);
  memcpy(to + 4, kind, 4);
  if (size) memcpy(to + 8, content, size);
  put(to + 8 + size, crc32(0, to + 4, (unsigned)size + 4));
  return size + 12;
}

/* An 8-bit grey PNG whose data unpack to `raw`, with an eXIf chunk, or an iTXt one of
 * XMP, before or after the pixels. */
static void write_raw_png(const char *path, uint32_t width, uint32_t height, const uint8_t *raw,
                          size_t raw_size, const uint8_t *exif, size_t exif_size, bool after) {
  const char *kind = exif && *exif == 'X' ? "iTXt" : "eXIf";
  unsigned long packed = compressBound(raw_size);
  owned uint8_t *data = ft_calloc(packed, 1), *file = ft_calloc(packed + 512, 1);
  assert_int_equal(compress2(data, &packed, raw, raw_size, 9), Z_OK);
  uint8_t header[13] = {[8] = 8};
  put(header, width);
  put(header + 4, height);
  memcpy(file, "\x89PNG\r\n\x1a\n", 8);
  size_t at = 8 + put_chunk(file + 8, "IHDR", header, sizeof header);
  if (exif && !after) at += put_chunk(file + at, kind, exif, exif_size);
  at += put_chunk(file + at, "IDAT", data, packed);
  if (exif && after) at += put_chunk(file + at, kind, exif, exif_size);
  at += put_chunk(file + at, "IEND", NULL, 0);
  test_write(path, file, at);
}

static void write_image(const char *root, const char *name) {
  ft_image image = test_picture(4, 4, 1, 1);
  test_write_png(root, name, &image);
  free(image.pixels);
}

/* ---- orientation ---- */

/* Which pixel of the stored image an upright pixel (x, y) is, by the words of EXIF 2.3: the visual
 * place of its row 0 and column 0. */
static uint8_t stored_pixel(const uint8_t *raw, int w, int h, int orientation, int x, int y) {
  static const struct {
    bool swaps, up, back;
  } turns[] = {{0},       {0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0},
               {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}};
  int row = turns[orientation].swaps ? x : y, column = turns[orientation].swaps ? y : x;
  if (turns[orientation].up) row = h - 1 - row;
  if (turns[orientation].back) column = w - 1 - column;
  return raw[row * (w + 1) + 1 + column];
}

/* All eight values, in both byte orders, before and after the pixels; values beyond are upright. */
TEST(test_png_orientation) {
  enum { PW = 3, PH = 2 };
  const char *path = test_path(test_folder(), "a.png");
  static const uint8_t raw[] = {0, 10, 20, 30, 0, 40, 50, 60};
  for (int i = 0; i < 40; i++) {
    uint8_t exif[64];
    int value = i % 10, turn = value < 1 || value > 8 ? 1 : value;
    size_t size = write_exif(exif, i % 20 < 10, (uint8_t)value);
    uint64_t mark;
    ft_image image, look;
    write_raw_png(path, PW, PH, raw, sizeof raw, exif, size, i >= 20);
    assert_ok(ft_image_load(path, &image));
    assert_int_equal(image.width, turn >= 5 ? PH : PW);
    assert_int_equal(image.height, turn >= 5 ? PW : PH);
    assert_ok(ft_image_look(path, &look, &mark));
    assert_int_equal(look.width, image.width);
    assert_int_equal(look.height, image.height);
    for (int y = 0; y < (int)image.height; y++)
      for (int x = 0; x < (int)image.width; x++)
        assert_int_equal(image.pixels[y * (int)image.width + x],
                         stored_pixel(raw, PW, PH, turn, x, y));
    free(image.pixels);
  }
}

/* The corner that is bright when the image is upright, of JPEGs that store it turned. */
TEST(test_jpeg_orientation) {
  /* where EXIF's orientations put the stored upper left corner: right?, below? */
  static const bool right[] = {0, 0, 1, 1, 0, 0, 1, 1, 0}, below[] = {0, 0, 0, 1, 1, 0, 0, 1, 1};
  const char *path = test_path(test_folder(), "a.jpg");
  uint8_t pixels[W * H * 3] = {0};
  for (int y = 0; y < 8; y++)
    memset(pixels + y * W * 3, 255, 8 * 3);
  for (int i = 1; i <= 8; i++) {
    jpeg_kind kind = {.components = 3, .space = JCS_YCbCr, .exif = "Exif\0"};
    kind.exif_bytes = 6 + write_exif(kind.exif + 6, i % 2, (uint8_t)i);
    write_jpeg(path, &kind, pixels);
    ft_image image, look;
    uint64_t mark;
    assert_ok(ft_image_load(path, &image));
    assert_ok(ft_image_look(path, &look, &mark));
    assert_int_equal(look.width, i >= 5 ? H : W);
    assert_int_equal(image.width, look.width);
    for (int corner = 0; corner < 4; corner++) {
      size_t x = corner % 2 ? image.width - 1 : 0, y = corner / 2 ? image.height - 1 : 0;
      bool bright = image.pixels[(y * image.width + x) * 3] > 128;
      assert_int_equal(bright, right[i] == corner % 2 && below[i] == corner / 2);
    }
    free(image.pixels);
  }
}

/* What XMP says counts where EXIF says nothing, as in Pillow. */
TEST(test_xmp_orientation) {
  static const struct {
    const char *xmp;
    uint8_t exif; /* 0: none */
    bool swaps;
  } cases[] = {{"<rdf:Description tiff:Orientation=\"6\"/>", 0, true},
               {"<tiff:Orientation>8</tiff:Orientation>", 0, true},
               {"<tiff:Orientation>6</tiff:Orientation>", 3, false},
               {"<tiff:Orientation>1</tiff:Orientation>", 6, true},
               {"<tiff:Orientation>9</tiff:Orientation>", 0, false},
               {"tiff:Orientation=\"", 0, false},
               {"tiff:Orientation>", 0, false}};
  const char *path = test_path(test_folder(), "a.jpg");
  const uint8_t pixels[W * H] = {0};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    jpeg_kind kind = {.components = 1, .space = JCS_GRAYSCALE, .xmp = cases[i].xmp};
    memcpy(kind.exif, "Exif\0", 6);
    if (cases[i].exif) kind.exif_bytes = 6 + write_exif(kind.exif + 6, true, cases[i].exif);
    write_jpeg(path, &kind, pixels);
    ft_image image, look;
    uint64_t mark;
    assert_ok(ft_image_load(path, &image));
    assert_ok(ft_image_look(path, &look, &mark));
    assert_int_equal(image.width, cases[i].swaps ? H : W);
    assert_int_equal(look.width, image.width);
    free(image.pixels);
  }
}

/* Metadata of a PNG after more pixels than are looked at: EXIF data, and XMP. */
TEST(test_late_png_orientation) {
  enum { SIDE = 96 };
  static const char XMP[] = "XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation=\"5\"/>";
  const char *path = test_path(test_folder(), "a.png");
  uint8_t raw[(SIDE + 1) * 2 * SIDE], exif[64];
  const size_t size = write_exif(exif, true, 6);
  for (size_t i = 0; i < sizeof raw; i++)
    raw[i] = i % (SIDE + 1) ? (uint8_t)(i * i * 2654435761u >> 13) : 0; /* hard to pack */
  for (int xmp = 0; xmp < 2; xmp++) {
    ft_image image, look;
    uint64_t mark;
    write_raw_png(path, SIDE, 2 * SIDE, raw, sizeof raw, xmp ? (const uint8_t *)XMP : exif,
                  xmp ? sizeof XMP - 1 : size, true);
    assert_true(ft_file_size(path) > 3 * 4096);
    assert_ok(ft_image_load(path, &image));
    assert_ok(ft_image_look(path, &look, &mark));
    assert_int_equal(image.width, 2 * SIDE);
    assert_int_equal(look.width, 2 * SIDE);
    free(image.pixels);
  }
}

/* A damaged block is upright, wherever it ends and whatever its offsets say. */
TEST(test_damaged_exif) {
  uint8_t exif[64];
  for (int little = 0; little < 2; little++) {
    size_t size = write_exif(exif, little, 6);
    assert_int_equal(ft_exif_orientation(exif, size), 6);
    for (size_t i = 0; i < size - 2; i++) {
      owned uint8_t *cut = ft_calloc(i + 1, 1); /* an address sanitizer sees its end */
      memcpy(cut, exif, i);
      assert_int_equal(ft_exif_orientation(cut, i), 0);
    }
    for (size_t i = 0; i < size; i++)
      for (int k = 1; k < 256; k++) {
        exif[i] ^= (uint8_t)k;
        assert_between(ft_exif_orientation(exif, size), 0, 8);
        exif[i] ^= (uint8_t)k;
      }
  }
  assert_int_equal(ft_exif_orientation((const uint8_t *)"II*\0\xff\xff\xff\xff", 8), 0);
}

/* Turned images count with the size that they have upright. */
TEST(test_orientation_and_sizes) {
  const char *root = test_folder();
  jpeg_kind up = {.components = 1, .space = JCS_GRAYSCALE}, turned = up;
  uint8_t pixels[W * H] = {0};
  memcpy(turned.exif, "Exif\0", 6);
  turned.exif_bytes = 6 + write_exif(turned.exif + 6, true, 6);
  assert_int_equal(mkdir(test_path(root, "a"), 0700), 0);
  write_jpeg(test_path(root, "a/0.jpg"), &turned, pixels);
  write_jpeg(test_path(root, "a/1.jpg"), &up, pixels);
  for (int kind = FILTRA_PIXELS_GREY; kind <= FILTRA_PIXELS_RGB; kind++)
    test_refuse_dataset(root, &(filtra_dataset_options){.pixels = (filtra_pixels)kind},
                        "a/1.jpg: an image of 24 x 16 pixels; those before have 16 x 24");
}

/* ---- colours ---- */

/* CMYK and YCCK, as Pillow converts them: cyan, magenta, yellow and black are inverted, with or
 * without Adobe's marker. */
TEST(test_cmyk) {
  static const uint8_t colours[][7] = {
      /* c, m, y, k as stored, and red, green, blue by Pillow 11 */
      {255, 255, 255, 255, 255, 255, 255}, {0, 0, 0, 255, 0, 0, 0},
      {255, 255, 255, 0, 0, 0, 0},         {255, 0, 0, 255, 255, 0, 0},
      {200, 100, 50, 180, 141, 71, 35},    {10, 250, 128, 90, 4, 88, 45}};
  const char *path = test_path(test_folder(), "a.jpg");
  for (size_t i = 0; i < FT_COUNT(colours) * 3; i++) {
    const uint8_t *colour = colours[i / 3];
    jpeg_kind kind = {
        .components = 4, .space = i % 3 == 1 ? JCS_YCCK : JCS_CMYK, .adobe = i % 3 < 2};
    uint8_t pixels[W * H * 4];
    for (size_t k = 0; k < sizeof pixels; k++)
      pixels[k] = colour[k % 4];
    write_jpeg(path, &kind, pixels);
    ft_image image;
    assert_ok(ft_image_load(path, &image));
    assert_int_equal(image.channels, 3);
    for (size_t k = 0; k < (size_t)W * H * 3; k++)
      assert_between(image.pixels[k] + 3, colour[4 + k % 3], colour[4 + k % 3] + 6);
    free(image.pixels);
  }
}

/* ---- headers ---- */

/* Kinds that no decoder takes are found when the data are opened. */
TEST(test_kinds_that_are_not_read) {
  static const struct {
    size_t at; /* after the marker of the frame header */
    uint8_t byte;
    const char *part;
  } jpegs[] = {{1, 0xc3, "a JPEG of frame type 3; 0 (baseline)"},
               {1, 0xcb, "a JPEG of frame type 11"},
               {4, 12, "a JPEG of 12 bits per colour component; 8 are read"},
               {9, 2, "a JPEG of 2 colour components; 1 (grey), 3 (colour) and 4 (CMYK) are read"}},
    pngs[] = {{24, 7, "no PNG has colour type 0, 7 bits"},
              {25, 5, "no PNG has colour type 5, 8 bits"},
              {25, 9, "no PNG has colour type 9"},
              {28, 2, "interlacing 2"}};
  const filtra_dataset_options rgb = {.pixels = FILTRA_PIXELS_RGB,
                                      .normalize = FILTRA_NORMALIZE_IMAGENET};
  const char *root = test_folder();
  assert_int_equal(mkdir(test_path(root, "a"), 0700), 0);
  const char *jpeg = test_path(root, "a/0.jpg");
  uint8_t pixels[W * H * 3] = {0};
  write_jpeg(jpeg, &(jpeg_kind){.components = 3, .space = JCS_YCbCr}, pixels);
  size_t size;
  owned char *data = test_read(jpeg, &size);
  size_t frame = (size_t)((char *)memmem(data, size, "\xff\xc0", 2) - data);
  for (size_t i = 0; i < FT_COUNT(jpegs); i++) {
    char kept = data[frame + jpegs[i].at];
    data[frame + jpegs[i].at] = (char)jpegs[i].byte;
    test_write(jpeg, data, size);
    test_refuse_dataset(root, &rgb, jpegs[i].part);
    data[frame + jpegs[i].at] = kept;
  }
  test_write(jpeg, data, size - 40); /* its end is missing */
  test_refuse_dataset(root, &rgb, "a/0.jpg: damaged JPEG");
  remove(jpeg);
  for (size_t i = 0; i < FT_COUNT(pngs); i++) {
    uint8_t raw[W * (W + 1)] = {0};
    const char *path = test_path(root, "a/1.png");
    write_raw_png(path, W, W, raw, sizeof raw, NULL, 0, false);
    owned char *png = test_read(path, &size);
    png[pngs[i].at] = (char)pngs[i].byte;
    test_write(path, png, size);
    test_refuse_dataset(root, &rgb, pngs[i].part);
  }
}

/* All files are looked at before the first of them that cannot be read is told. */
TEST(test_bad_files_are_counted) {
  const filtra_dataset_options rgb = {.pixels = FILTRA_PIXELS_RGB,
                                      .normalize = FILTRA_NORMALIZE_IMAGENET};
  const char *root = test_folder();
  for (int i = 0; i < 4; i++) {
    write_image(root, test_text("a/%d.png", i));
    write_image(root, test_text("b/%d.png", i));
  }
  test_write_text(root, "a/2.png", "no image");
  test_refuse_dataset(root, &rgb, "a/2.png: neither PNG nor JPEG");
  assert_null(strstr(filtra_error_message(), "more of"));
  test_write_text(root, "b/0.png", "");
  test_write_text(root, "b/3.png", "GIF89a");
  for (int kind = FILTRA_PIXELS_GREY; kind <= FILTRA_PIXELS_RGB; kind++)
    test_refuse_dataset(root, &(filtra_dataset_options){.pixels = (filtra_pixels)kind},
                        "a/2.png: neither PNG nor JPEG; 2 more of 8 files cannot be read");
}

/* Harmless bytes beside the image data are no damage. */
TEST(test_jpeg_with_bytes_beside) {
  const char *path = test_path(test_folder(), "a.jpg");
  uint8_t pixels[W * H] = {0};
  write_jpeg(path, &(jpeg_kind){.components = 1, .space = JCS_GRAYSCALE}, pixels);
  size_t size;
  owned char *data = test_read(path, &size), *more = ft_calloc(size + 8, 1);
  for (int i = 0; i < 2; i++) { /* before the end marker and after it */
    size_t at = i ? size : size - 2;
    memcpy(more, data, at);
    memcpy(more + at, "\x12\x34\x56\x78", 4);
    memcpy(more + at + 4, data + at, size - at);
    test_write(path, more, size + 4);
    ft_image image;
    uint64_t mark;
    assert_ok(ft_image_look(path, &image, &mark));
    assert_ok(ft_image_load(path, &image));
    free(image.pixels);
  }
}

/* Data of an 8 x 8 image that unpack to 64 MB are refused when the last row comes; a few bytes too
 * many are read. */
TEST(test_png_surplus) {
  enum { MOST = 64 << 20 };
  const char *path = test_path(test_folder(), "a.png");
  owned uint8_t *raw = ft_calloc(MOST, 1);
  ft_image image;
  write_raw_png(path, 8, 8, raw, MOST, NULL, 0, false);
  assert_fails(ft_image_load(path, &image), FILTRA_ERROR_INPUT, "a.png: damaged PNG: 65");
  assert_non_null(strstr(filtra_error_message(), "bytes of packed data for"));
  write_raw_png(path, 8, 8, raw, 8 * 9 + 1000, NULL, 0, false);
  assert_ok(ft_image_load(path, &image));
  free(image.pixels);
}

/* ---- folders ---- */

/* Splits by any of their names in any case. */
TEST(test_names_of_splits) {
  static const char *const names[][3] = {{"training", "validation", "testing"},
                                         {"TRAIN", "Validate", "Test"},
                                         {"Train", "Val", "Test"},
                                         {"TRAIN", "dev", "TEST"},
                                         {"Training", "Valid", "ind"}};
  for (size_t i = 0; i < FT_COUNT(names); i++) {
    const char *root = test_folder();
    for (int k = 0; k < 3; k++)
      for (int n = 0; n <= k; n++) {
        write_image(root, test_text("%s/a/%d.png", names[i][k], n));
        write_image(root, test_text("%s/b/%d.png", names[i][k], n));
      }
    owned_dataset *ds = test_open_dataset(root, NULL, NULL);
    test_counts(ds, 2, 4, 6);
  }
  const char *root = test_folder();
  write_image(root, "train/a/0.png");
  write_image(root, "Training/a/0.png");
  test_refuse_dataset(root, NULL, "Training and ");
  test_refuse_dataset(root, NULL, "train are both folders of the train split");
}

/* A class may be called like a split. */
TEST(test_a_class_called_train) {
  const char *root = test_folder();
  write_image(root, "train/0.png");
  write_image(root, "car/0.png");
  write_image(root, "car/1.png");
  owned_dataset *ds = test_open_dataset(root, NULL, NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
}

/* What systems leave in folders is no data; folders are no files. */
TEST(test_foreign_files) {
  const char *root = test_folder();
  static const char *const foreign[] = {"__MACOSX/a/0.png", ".DS_Store",     "Thumbs.db",
                                        "a/Thumbs.db",      "a/desktop.ini", "a/._0.png",
                                        "b/.DS_Store",      "b/ehthumbs.db", ".git/a/0.png"};
  for (int i = 0; i < 3; i++) {
    write_image(root, test_text("a/%d.png", i));
    write_image(root, test_text("b/%d.png", i));
  }
  for (size_t i = 0; i < FT_COUNT(foreign); i++)
    test_write_text(root, foreign[i], "no image");
  owned_dataset *ds =
      test_open_dataset(root, NULL, &(filtra_dataset_options){.validation_share = 0.5f});
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN] +
                       filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL],
                   6);
  assert_int_equal(mkdir(test_path(root, "a/x.png"), 0700), 0);
  test_refuse_dataset(root, NULL, "a/x.png: a folder where a class has files alone");
}

static char warnings[1024];

static void note(void *user, filtra_log_level level, const char *text) {
  (void)user, (void)level;
  strncat(warnings, text, sizeof warnings - strlen(warnings) - 1);
}

/* Folders beside those of splits: said, refused, or samples without labels. */
TEST(test_folders_beside_splits) {
  const char *root = test_folder();
  write_image(root, "train/a/0.png");
  write_image(root, "train/b/0.png");
  write_image(root, "test/0.png");
  write_image(root, "test/1.png");
  test_write_text(root, "notes/README", "x");
  filtra_log_set(note, NULL);
  filtra_dataset *ds = test_open_dataset(root, NULL, NULL);
  filtra_log_set(NULL, NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 0);
  assert_non_null(strstr(warnings, "notes is left out: it is no folder of a split"));
  assert_non_null(strstr(warnings, "test is left out: its files are in no folders per class"));
  filtra_dataset_close(&ds);
  ds = test_open_dataset(root, NULL, &(filtra_dataset_options){.unlabelled = true});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 2);
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 1);
  assert_int_equal(s.label, -1);
  filtra_dataset_close(&ds);
  write_image(root, "more/0.png");
  test_refuse_dataset(root, NULL, "more holds files, and the folder beside has splits");
}

/* A file or a folder of images without classes is there to be predicted. */
TEST(test_loose_images) {
  static const char *const names[] = {"a", "b"};
  static const ft_data_fit fit = {.classes = names, .class_count = 2};
  const char *root = test_folder();
  for (int i = 0; i < 3; i++)
    write_image(root, test_text("%d.png", i));
  test_write_text(root, "Thumbs.db", "x");
  test_refuse_dataset(root, NULL, "images of which nothing says the class; they can be predicted");
  test_refuse_dataset(test_path(root, "1.png"), NULL, "1.png: images of which nothing says");
  for (int kind = FILTRA_PIXELS_GREY; kind <= FILTRA_PIXELS_RGB; kind++)
    for (int one = 0; one < 2; one++) {
      const filtra_dataset_options options = {.pixels = (filtra_pixels)kind, .unlabelled = true};
      filtra_dataset *ds;
      assert_ok(ft_dataset_open_fitted(one ? test_path(root, "1.png") : root, &options, &fit, &ds));
      test_counts(ds, 0, 0, one ? 1 : 3);
      assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], one ? 1 : 3);
      assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
      filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, one ? 0 : 1);
      assert_int_equal(s.label, -1);
      assert_string_equal(s.name, test_path(root, "1.png"));
      filtra_dataset_close(&ds);
    }
}

TEST_MAIN(NULL, test_teardown)

#else

TEST_PROGRAM {
  print_message("SKIPPED: built without libpng or libjpeg\n");
  return 0;
}

#endif

/* Readers of images and of data sets of images. */
#include "data/image_file.h"
#include "fuzz.h"
#include "samples.h"

#include <stdlib.h>

static void check_image(filtra_status status, size_t size, ft_image *image) {
  fuzz_failed(status);
  if (status) return;
  size_t bytes = (size_t)image->height * image->width * image->channels;
  fuzz_check(bytes && !ft_image_check_file(image->height, image->width, size), "an image's size");
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; i++)
    sum += image->pixels[i];
  fuzz_check(sum <= 255 * (uint64_t)bytes, "pixels");
  free(image->pixels);
}

static void read_header(const uint8_t *data, size_t size) {
  ft_image_header header;
  fuzz_failed(ft_image_read_header(data, size, &header));
  fuzz_check(header.orientation >= 1 && header.orientation <= 8, "an orientation");
}

static void read_png(const uint8_t *data, size_t size) {
  ft_image image;
  read_header(data, size);
  check_image(ft_image_decode_png(data, size, &image), size, &image);
}

static void read_jpeg(const uint8_t *data, size_t size) {
  ft_image image;
  read_header(data, size);
  check_image(ft_image_decode_jpeg(data, size, &image), size, &image);
}

static void open_images(const char *format, const char *path) {
  static const filtra_pixels PIXELS[] = {FILTRA_PIXELS_GREY, FILTRA_PIXELS_RGB};
  for (size_t i = 0; i < FT_COUNT(PIXELS); i++)
    for (uint32_t size = 0; size <= 5; size += 5)
      fuzz_dataset(path, &(filtra_dataset_options){
                             .format = format, .pixels = PIXELS[i], .image_size = size});
}

#define IMAGE_READER(function, format, folder, ...)                                                \
  static void function(const uint8_t *data, size_t size) {                                         \
    static const char *const NAMES[] = {__VA_ARGS__, NULL};                                        \
    fuzz_files(data, size, NAMES);                                                                 \
    open_images(format, fuzz_path(folder));                                                        \
  }
IMAGE_READER(read_cifar, "cifar10", "cifar", "cifar/data_batch_1.bin", "cifar/test_batch.bin")
IMAGE_READER(read_idx, "idx", "idx", "idx/train-images-idx3-ubyte", "idx/train-labels-idx1-ubyte",
             "idx/t10k-images-idx3-ubyte", "idx/t10k-labels-idx1-ubyte")
IMAGE_READER(read_folder, "image-folder", "images", "images/train/a/0.png", "images/train/b/0.jpg",
             "images/test/a/1.png")
IMAGE_READER(read_image_table, "image-table", "imagetable", "imagetable/trainLabels.csv",
             "imagetable/train/1.png", "imagetable/train/2.png")
IMAGE_READER(read_pathfinder, "pathfinder", "pathfinder", "pathfinder/metadata/0.npy",
             "pathfinder/imgs/0/sample_0.png", "pathfinder/imgs/0/sample_1.png")

const fuzz_reader fuzz_images[] = {{"png", read_png},
                                   {"jpeg", read_jpeg},
                                   {"cifar10", read_cifar},
                                   {"idx", read_idx},
                                   {"image-folder", read_folder},
                                   {"image-table", read_image_table},
                                   {"pathfinder", read_pathfinder},
                                   {0}};

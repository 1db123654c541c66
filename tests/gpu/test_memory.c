/* Buffers, their failures, and blocking copies of every awkward size. */
#include "gpu/internal.h"
#include "support/harness.h"

static unsigned char *pattern(size_t size, unsigned seed) {
  unsigned char *bytes = malloc(size + 1);
  assert_non_null(bytes);
  for (size_t i = 0; i < size; i++)
    bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
  return bytes;
}

/* Puts `size` bytes at `offset` and expects them back and their neighbours untouched. */
static void check_round_trip(filtra_device *dev, const ft_buffer *buffer, size_t offset,
                             size_t size) {
  unsigned char *whole = pattern(buffer->size, 1), *part = pattern(size, 2);
  unsigned char *got = malloc(buffer->size);
  assert_non_null(got);
  assert_ok(ft_upload(dev, buffer, 0, whole, buffer->size));
  assert_ok(ft_upload(dev, buffer, offset, part, size));
  memcpy(whole + offset, part, size);
  assert_ok(ft_download(dev, buffer, 0, got, buffer->size));
  assert_memory_equal(got, whole, buffer->size);
  memset(got, 0, buffer->size);
  assert_ok(ft_download(dev, buffer, offset, got, size));
  if (size) assert_memory_equal(got, part, size);
  free(whole);
  free(part);
  free(got);
}

static void check_copies(filtra_device *dev, bool through_staging) {
  static const size_t sizes[] = {1, 3, 4, 5, 255, 4097, 65537, 1000003};
  for (int kind = FT_MEMORY_DEVICE; kind <= FT_MEMORY_READBACK; kind++) {
    for (size_t i = 0; i < FT_COUNT(sizes); i++) {
      ft_buffer buffer;
      assert_ok(ft_buffer_create(dev, sizes[i], (ft_memory_kind)kind, &buffer));
      assert_true(buffer.address != 0 && buffer.address % 16 == 0);
      assert_true(kind == FT_MEMORY_DEVICE || buffer.mapped);
      void *mapped = buffer.mapped;
      if (through_staging) buffer.mapped = NULL; /* as on a device whose memory cannot be mapped */
      check_round_trip(dev, &buffer, 0, sizes[i]);
      check_round_trip(dev, &buffer, sizes[i] / 3, sizes[i] / 2);
      check_round_trip(dev, &buffer, sizes[i], 0);
      buffer.mapped = mapped;
      ft_buffer_destroy(dev, &buffer);
    }
  }
}

TEST(test_copies) {
  check_copies(test_device(), false);
}

TEST(test_copies_staged) {
  check_copies(test_device(), true);
}

/* Half a megabyte at a time, with a rest. */
TEST(test_copies_in_pieces) {
  owned_device *dev = test_open_device("allocation=1048576");
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, 900001, FT_MEMORY_DEVICE, &buffer));
  buffer.mapped = NULL;
  check_round_trip(dev, &buffer, 5, 700001);
  ft_buffer_destroy(dev, &buffer);
}

/* Memory that is not cached is read through the staging buffer. */
TEST(test_uncached) {
  filtra_device *dev = test_device();
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, 1234, FT_MEMORY_DEVICE, &buffer));
  buffer.cached = false;
  check_round_trip(dev, &buffer, 7, 1000);
  ft_buffer_destroy(dev, &buffer);
}

TEST(test_fill) {
  filtra_device *dev = test_device();
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, 44, FT_MEMORY_DEVICE, &buffer));
  uint32_t words[11];
  assert_ok(ft_fill(dev, &buffer, 0, 44, 7));
  assert_ok(ft_fill(dev, &buffer, 8, 12, 0xdeadbeef));
  assert_ok(ft_fill(dev, &buffer, 44, 0, 1));
  assert_ok(ft_download(dev, &buffer, 0, words, sizeof words));
  for (int i = 0; i < 11; i++)
    assert_int_equal(words[i], i >= 2 && i < 5 ? 0xdeadbeef : 7);
  assert_fails(ft_fill(dev, &buffer, 2, 4, 0), FILTRA_ERROR_ARGUMENT, "multiples of 4");
  assert_fails(ft_fill(dev, &buffer, 0, 6, 0), FILTRA_ERROR_ARGUMENT, "multiples of 4");
  ft_buffer_destroy(dev, &buffer);
}

TEST(test_ranges) {
  filtra_device *dev = test_device();
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, 100, FT_MEMORY_DEVICE, &buffer));
  char bytes[200] = {0};
  assert_fails(ft_upload(dev, &buffer, 0, bytes, 101), FILTRA_ERROR_ARGUMENT, "101");
  assert_fails(ft_upload(dev, &buffer, 101, bytes, 0), FILTRA_ERROR_ARGUMENT, "100 bytes");
  assert_fails(ft_download(dev, &buffer, 1, bytes, 100), FILTRA_ERROR_ARGUMENT, "download");
  assert_fails(ft_download(dev, &buffer, UINT64_MAX, bytes, 2), FILTRA_ERROR_ARGUMENT, "download");
  assert_fails(ft_fill(dev, &buffer, 4, UINT64_MAX - 3, 0), FILTRA_ERROR_ARGUMENT, "fill");
  ft_buffer_destroy(dev, &buffer);
}

TEST(test_empty_buffer) {
  filtra_device *dev = test_device();
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, 0, FT_MEMORY_DEVICE, &buffer));
  assert_ok(ft_upload(dev, &buffer, 0, "", 0));
  ft_buffer_destroy(dev, &buffer);
  ft_buffer_destroy(dev, &buffer); /* zeroed by now */
}

TEST(test_accounting) {
  owned_device *dev = test_open_device(NULL);
  assert_int_equal(filtra_device_memory_used(dev), 0);
  ft_buffer a, b;
  assert_ok(ft_buffer_create(dev, 1000, FT_MEMORY_DEVICE, &a));
  uint64_t one = filtra_device_memory_used(dev);
  assert_true(one >= a.size + a.slack);
  assert_ok(ft_buffer_create(dev, 1000, FT_MEMORY_UPLOAD, &b));
  assert_true(filtra_device_memory_used(dev) >= 2 * 1000 + one - 1000);
  ft_buffer_destroy(dev, &b);
  assert_int_equal(filtra_device_memory_used(dev), one);
  ft_buffer_destroy(dev, &a);
  assert_int_equal(filtra_device_memory_used(dev), 0);
}

TEST(test_limit) {
  owned_device *dev = test_open_device("allocation=2000000");
  ft_buffer buffer;
  assert_fails(ft_buffer_create(dev, 2000000, FT_MEMORY_DEVICE, &buffer),
               FILTRA_ERROR_DEVICE_MEMORY, "2000000 bytes were asked");
  assert_fails(ft_buffer_create(dev, UINT64_MAX, FT_MEMORY_DEVICE, &buffer),
               FILTRA_ERROR_DEVICE_MEMORY, "18446744073709551615 bytes");
  assert_null(buffer.buffer);
  assert_ok(ft_buffer_create(dev, 2000000 - 65536, FT_MEMORY_DEVICE, &buffer));
  ft_buffer_destroy(dev, &buffer);
}

/* Each Vulkan call behind a buffer and behind its copies made to fail in turn. */
static void check_faults(filtra_device *dev, VkResult result, filtra_status expected) {
  uint64_t before = filtra_device_memory_used(dev);
  uint32_t word = 5;
  for (long n = 1;; n++) {
    assert_true(n < 100);
    ft_buffer buffer;
    ft_vk_fail_after(n, result);
    filtra_status status = ft_buffer_create(dev, 4096, FT_MEMORY_DEVICE, &buffer);
    if (!status) {
      buffer.mapped = NULL;
      status = ft_upload(dev, &buffer, 12, &word, 4);
      if (!status) status = ft_download(dev, &buffer, 12, &word, 4);
      if (!status) status = ft_fill(dev, &buffer, 0, 8, 1);
      ft_vk_fail_after(0, VK_SUCCESS);
      assert_ok(ft_wait_idle(dev));
      ft_buffer_destroy(dev, &buffer);
    } else {
      assert_int_equal(filtra_device_memory_used(dev), before);
    }
    if (!status) break;
    assert_int_equal(status, expected);
    assert_non_null(strstr(filtra_error_message(), "out of"));
  }
}

TEST(test_faults) {
  check_faults(test_device(), VK_ERROR_OUT_OF_HOST_MEMORY, FILTRA_ERROR_HOST_MEMORY);
}

/* Whatever fails while a buffer is filled, the device is done with it: its memory is freed then. */
TEST(test_failed_fill) {
  enum { BYTES = 64 << 20 }; /* long enough to be seen at work */
  filtra_device *dev = test_device();
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, BYTES, FT_MEMORY_DEVICE, &buffer));
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    ft_vk_fail_after(n, VK_ERROR_OUT_OF_HOST_MEMORY);
    status = ft_fill(dev, &buffer, 0, BYTES, 0);
    ft_vk_fail_after(0, VK_SUCCESS);
    assert_true(ft_done(dev, dev->submitted));
    assert_true(status || n > 4);
  }
  ft_buffer_destroy(dev, &buffer);
}

/* A full heap: the message says what was asked, what there is and what is in use. */
TEST(test_full_heap) {
  filtra_device *dev = test_device();
  ft_buffer buffer;
  ft_vk_fail_after(1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_fails(ft_buffer_create(dev, 100, FT_MEMORY_DEVICE, &buffer), FILTRA_ERROR_DEVICE_MEMORY,
               "vkCreateBuffer");
  VkPhysicalDeviceMemoryProperties memory;
  dev->instance->vk.vkGetPhysicalDeviceMemoryProperties(dev->physical, &memory);
  if (memory.memoryTypeCount > 1) return; /* another type would be tried, and have room */
  ft_vk_fail_after(2, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_fails(ft_buffer_create(dev, 100, FT_MEMORY_DEVICE, &buffer), FILTRA_ERROR_DEVICE_MEMORY,
               "out of memory: 100 bytes were asked");
  assert_non_null(strstr(filtra_error_message(), "in use here"));
}

TEST_MAIN(NULL, test_teardown)

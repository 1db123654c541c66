/* Writes event files as TensorBoard reads them. A record is its length, a checksum of the length,
 * the bytes, and a checksum of the bytes (tensorflow/core/lib/io/record_writer.h); the bytes are an
 * Event (tensorflow/core/util/event.proto) with a scalar Summary. Called by metrics.c. */
#include "events.h"

#include <string.h>

/* ---- records ---- */

/* CRC-32C (Castagnoli), bit by bit: records are short. */
static uint32_t checksum(const uint8_t *bytes, size_t count) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u; /* masked, as the format requires */
}

static void put_little(uint8_t *to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    to[i] = (uint8_t)(value >> 8 * i);
}

static void write_record(FILE *to, const uint8_t *bytes, size_t count) {
  uint8_t head[12], tail[4];
  put_little(head, count, 8);
  put_little(head + 8, checksum(head, 8), 4);
  put_little(tail, checksum(bytes, count), 4);
  fwrite(head, 1, sizeof head, to);
  fwrite(bytes, 1, count, to);
  fwrite(tail, 1, sizeof tail, to);
}

/* ---- protocol buffers ---- */

enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5, VALUE = 1, TAG = 1, SIMPLE = 2 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types */

typedef struct message {
  uint8_t bytes[256];
  size_t count;
} message;

static void put_varint(message *m, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    m->bytes[m->count++] = (uint8_t)(value | 0x80);
  m->bytes[m->count++] = (uint8_t)value;
}

static void put_fixed(message *m, int field, int wire, uint64_t bits, size_t bytes) {
  put_varint(m, (uint64_t)(field << 3 | wire));
  put_little(m->bytes + m->count, bits, bytes);
  m->count += bytes;
}

static void put_bytes(message *m, int field, const void *bytes, size_t count) {
  put_varint(m, (uint64_t)(field << 3 | BYTES));
  put_varint(m, count);
  memcpy(m->bytes + m->count, bytes, count);
  m->count += count;
}

static void put_double(message *m, int field, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_fixed(m, field, FIXED64, bits, sizeof bits);
}

static void put_float(message *m, int field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_fixed(m, field, FIXED32, bits, sizeof bits);
}

/* ---- events ---- */

void events_begin(FILE *to, double wall_time) {
  static const char VERSION[] = "brain.Event:2";
  message event = {.count = 0};
  put_double(&event, WALL_TIME, wall_time);
  put_bytes(&event, FILE_VERSION, VERSION, sizeof VERSION - 1);
  write_record(to, event.bytes, event.count);
}

void events_scalar(FILE *to, double wall_time, int64_t step, const char *tag, float value) {
  message scalar = {.count = 0}, summary = {.count = 0}, event = {.count = 0};
  put_bytes(&scalar, TAG, tag, strlen(tag));
  put_float(&scalar, SIMPLE, value);
  put_bytes(&summary, VALUE, scalar.bytes, scalar.count);
  put_double(&event, WALL_TIME, wall_time);
  put_varint(&event, STEP << 3 | VARINT);
  put_varint(&event, (uint64_t)step);
  put_bytes(&event, SUMMARY, summary.bytes, summary.count);
  write_record(to, event.bytes, event.count);
}

/* The first record has no text that differs; of the second, a scalar, only the time does. */
bool events_of_same_run(const char *old, size_t old_size, const char *made, size_t made_size) {
  enum { HEAD = 12, TIME = 9, VERSION = 24, FIRST = HEAD + VERSION + 4 };
  const size_t scalar =
      made_size > FIRST + 1 ? (uint8_t)made[FIRST] + ((size_t)(uint8_t)made[FIRST + 1] << 8) : 0;
  if (old_size < FIRST || memcmp(old, made, HEAD) != 0 ||
      memcmp(old + HEAD + TIME, made + HEAD + TIME, VERSION - TIME) != 0)
    return false;
  if (old_size == FIRST) return true;
  old += FIRST;
  made += FIRST;
  return scalar && old_size >= FIRST + HEAD + scalar && !memcmp(old, made, HEAD) &&
         !memcmp(old + HEAD + TIME, made + HEAD + TIME, scalar - TIME);
}

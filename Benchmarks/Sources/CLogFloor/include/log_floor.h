// The least that the work costs: a hash table and a raw append, without checksums, order, snapshots,
// atomicity or recovery worth the name. And what all engines share on the hot path.
#ifndef LOG_FLOOR_H
#define LOG_FLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// A hashed key is these 16 bytes as they lie in memory; a dense id is `first`, and `second` is 0.
typedef struct {
  uint64_t first;
  uint64_t second;
} log_key;

// A value to put, or a key to remove if `value` is NULL.
typedef struct {
  log_key key;
  const void *value;
  size_t length;
} log_operation;

static inline uint64_t log_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Of all threads of the process.
static inline uint64_t log_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Depends on every byte and its place: whoever returns it has read the value.
static inline uint64_t log_fold(const void *bytes, size_t length) {
  const unsigned char *at = (const unsigned char *)bytes;
  uint64_t sum = length;
  uint64_t factor = 0x9e3779b97f4a7c15u;
  for (; length >= 8; at += 8, length -= 8, factor += 0x3c6ef372fe94f82au) {
    uint64_t word;
    memcpy(&word, at, 8);
    sum += word * factor;
  }
  uint64_t rest = 0;
  memcpy(&rest, at, length);
  return sum + rest * factor;
}

typedef struct log_floor log_floor;

// NULL when the file cannot be made or read; errno says why.
log_floor *log_floor_open(const char *path);
void log_floor_close(log_floor *floor);
// Appends with one write; if `durable`, returns after an fdatasync that concurrent callers share.
// 0, or an errno.
int log_floor_commit(log_floor *floor, const log_operation *operations, size_t count, int durable);
// The value of a key, or NULL.
const void *log_floor_get(const log_floor *floor, log_key key, size_t *length);
// The entries in the table's order: begins with 0, returns the next position, 0 after the last.
size_t log_floor_next(
    const log_floor *floor, size_t position, log_key *key, const void **value, size_t *length);

#endif

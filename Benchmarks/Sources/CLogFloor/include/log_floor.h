// A lower bound for the cost of the work: a hash table and a raw append. It has no checksums, no
// order, no snapshots, no atomicity and almost no recovery. Also the functions that all engines use
// on the hot path.
#ifndef LOG_FLOOR_H
#define LOG_FLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// The 16 bytes of a hashed key in the order of memory. For a dense id, `first` is the id and
// `second` is 0.
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

// The processor time of all threads of the process.
static inline uint64_t log_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Combines every byte and its position, so the caller has read the whole value.
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

// Returns NULL if the file cannot be created or read; errno has the reason.
log_floor *log_floor_open(const char *path);
void log_floor_close(log_floor *floor);
// Appends with one write. If `durable` is set, returns after an fdatasync that concurrent callers
// share. Returns 0 or an errno.
int log_floor_commit(log_floor *floor, const log_operation *operations, size_t count, int durable);
// Returns the value of a key, or NULL.
const void *log_floor_get(const log_floor *floor, log_key key, size_t *length);
// Visits the entries in the order of the table. Begins with position 0. Returns the next position,
// or 0 after the last entry.
size_t log_floor_next(
    const log_floor *floor, size_t position, log_key *key, const void **value, size_t *length);

#endif

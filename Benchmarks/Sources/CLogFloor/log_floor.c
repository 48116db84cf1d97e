#include "log_floor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A file of records (key, length, value, padding to 8 bytes) after 8 unused bytes, mapped as a
// whole. Also a table with linear probing from keys to offsets; 0 is an empty slot.

static const size_t map_length = (size_t)64 << 30;
static const uint64_t removed = UINT64_MAX;

typedef struct {
  log_key key;
  uint64_t offset;
} slot;

typedef struct {
  log_key key;
  uint64_t length;
} header;

struct log_floor {
  int file;
  char *map;
  uint64_t end;
  slot *slots;
  size_t mask;
  size_t count;
  char *buffer;
  size_t capacity;
  // Protects everything above and below it against concurrent writers.
  pthread_mutex_t lock;
  pthread_cond_t synced_more;
  uint64_t synced;
  int is_syncing;
};

static size_t padded(size_t length) { return (length + 7) & ~(size_t)7; }

static uint64_t hash(log_key key) {
  uint64_t h = (key.first ^ (key.second * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 29);
}

static slot *find(slot *slots, size_t mask, log_key key) {
  size_t at = hash(key) & mask;
  while (slots[at].offset != 0 && (slots[at].key.first != key.first || slots[at].key.second != key.second)) {
    at = (at + 1) & mask;
  }
  return &slots[at];
}

static void grow(log_floor *floor) {
  size_t size = 2 * (floor->mask + 1);
  slot *slots = calloc(size, sizeof(slot));
  if (slots == NULL) abort();
  for (size_t i = 0; i <= floor->mask; i++) {
    if (floor->slots[i].offset != 0) *find(slots, size - 1, floor->slots[i].key) = floor->slots[i];
  }
  free(floor->slots);
  floor->slots = slots;
  floor->mask = size - 1;
}

static void put(log_floor *floor, log_key key, uint64_t offset) {
  slot *place = find(floor->slots, floor->mask, key);
  if (place->offset == 0) {
    if (4 * (floor->count + 1) > 3 * (floor->mask + 1)) {
      grow(floor);
      place = find(floor->slots, floor->mask, key);
    }
    floor->count++;
    place->key = key;
  }
  place->offset = offset;
}

// Moves later slots of the run back, so that no search stops too early.
static void take_out(log_floor *floor, log_key key) {
  slot *place = find(floor->slots, floor->mask, key);
  if (place->offset == 0) return;
  floor->count--;
  size_t hole = (size_t)(place - floor->slots);
  for (size_t at = (hole + 1) & floor->mask; floor->slots[at].offset != 0; at = (at + 1) & floor->mask) {
    size_t home = hash(floor->slots[at].key) & floor->mask;
    if (((at - home) & floor->mask) >= ((at - hole) & floor->mask)) {
      floor->slots[hole] = floor->slots[at];
      hole = at;
    }
  }
  floor->slots[hole].offset = 0;
}

static void note(log_floor *floor, const header *record, uint64_t offset) {
  if (record->length == removed) {
    take_out(floor, record->key);
  } else {
    put(floor, record->key, offset);
  }
}

static uint64_t end_of(const header *record, uint64_t offset) {
  return offset + sizeof(header) + (record->length == removed ? 0 : padded(record->length));
}

static void replay(log_floor *floor, uint64_t end) {
  uint64_t at = 8;
  while (at + sizeof(header) <= end) {
    const header *record = (const header *)(floor->map + at);
    uint64_t next = end_of(record, at);
    if (next > end) break;
    note(floor, record, at);
    at = next;
  }
  floor->end = at;
  floor->synced = at;
}

log_floor *log_floor_open(const char *path) {
  int file = open(path, O_RDWR | O_CREAT, 0644);
  if (file < 0) return NULL;
  struct stat status;
  if (fstat(file, &status) != 0 || (status.st_size < 8 && pwrite(file, "FLOOR\0\0", 8, 0) != 8)) return NULL;
  char *map = mmap(NULL, map_length, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (map == MAP_FAILED) return NULL;
  log_floor *floor = calloc(1, sizeof(log_floor));
  if (floor == NULL) abort();
  floor->file = file;
  floor->map = map;
  floor->mask = 1023;
  floor->slots = calloc(floor->mask + 1, sizeof(slot));
  if (floor->slots == NULL) abort();
  pthread_mutex_init(&floor->lock, NULL);
  pthread_cond_init(&floor->synced_more, NULL);
  replay(floor, status.st_size < 8 ? 8 : (uint64_t)status.st_size);
  return floor;
}

void log_floor_close(log_floor *floor) {
  munmap(floor->map, map_length);
  close(floor->file);
  free(floor->slots);
  free(floor->buffer);
  pthread_mutex_destroy(&floor->lock);
  pthread_cond_destroy(&floor->synced_more);
  free(floor);
}

static size_t encode(log_floor *floor, const log_operation *operations, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; i++) length += sizeof(header) + padded(operations[i].length);
  if (length > floor->capacity) {
    floor->buffer = realloc(floor->buffer, length);
    if (floor->buffer == NULL) abort();
    floor->capacity = length;
  }
  char *at = floor->buffer;
  for (size_t i = 0; i < count; i++) {
    const log_operation *operation = &operations[i];
    header record = {operation->key, operation->value == NULL ? removed : operation->length};
    memcpy(at, &record, sizeof record);
    at += sizeof record;
    if (operation->value == NULL) continue;
    memcpy(at, operation->value, operation->length);
    memset(at + operation->length, 0, padded(operation->length) - operation->length);
    at += padded(operation->length);
  }
  return (size_t)(at - floor->buffer);
}

static int write_all(log_floor *floor, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t written = pwrite(floor->file, floor->buffer + done, length - done, (off_t)(floor->end + done));
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) done += (size_t)written;
  }
  return 0;
}

static int sync_to(log_floor *floor, uint64_t end) {
  int error = 0;
  while (floor->synced < end && error == 0) {
    if (floor->is_syncing) {
      pthread_cond_wait(&floor->synced_more, &floor->lock);
      continue;
    }
    floor->is_syncing = 1;
    uint64_t target = floor->end;
    pthread_mutex_unlock(&floor->lock);
    if (fdatasync(floor->file) != 0) error = errno;
    pthread_mutex_lock(&floor->lock);
    floor->is_syncing = 0;
    if (error == 0) floor->synced = target;
    pthread_cond_broadcast(&floor->synced_more);
  }
  return error;
}

int log_floor_commit(log_floor *floor, const log_operation *operations, size_t count, int durable) {
  pthread_mutex_lock(&floor->lock);
  size_t length = encode(floor, operations, count);
  int error = write_all(floor, length);
  if (error == 0) {
    for (size_t at = 0; at < length;) {
      const header *record = (const header *)(floor->buffer + at);
      note(floor, record, floor->end + at);
      at = (size_t)end_of(record, at);
    }
    floor->end += length;
    if (durable) error = sync_to(floor, floor->end);
  }
  pthread_mutex_unlock(&floor->lock);
  return error;
}

const void *log_floor_get(const log_floor *floor, log_key key, size_t *length) {
  const slot *place = find(floor->slots, floor->mask, key);
  if (place->offset == 0) return NULL;
  const header *record = (const header *)(floor->map + place->offset);
  *length = record->length;
  return record + 1;
}

size_t log_floor_next(
    const log_floor *floor, size_t position, log_key *key, const void **value, size_t *length) {
  for (size_t at = position; at <= floor->mask; at++) {
    if (floor->slots[at].offset == 0) continue;
    const header *record = (const header *)(floor->map + floor->slots[at].offset);
    *key = record->key;
    *value = record + 1;
    *length = record->length;
    return at + 1;
  }
  return 0;
}

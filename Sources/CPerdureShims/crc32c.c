// CRC32C: hardware instructions where the processor has them, slicing by eight elsewhere.
#include "perdure_shims.h"

#include <string.h>

static uint32_t table[8][256];

static void fill_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (0x82F63B78u & (0u - (value & 1u)));
    table[0][i] = value;
  }
  for (int slice = 1; slice < 8; slice++)
    for (uint32_t i = 0; i < 256; i++)
      table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 0xFF];
}

static uint32_t update_by_table(uint32_t crc, const uint8_t *p, size_t n) {
  while (n >= 8) {
    crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    crc = table[7][crc & 0xFF] ^ table[6][(crc >> 8) & 0xFF] ^ table[5][(crc >> 16) & 0xFF] ^
          table[4][crc >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    p += 8;
    n -= 8;
  }
  while (n--) crc = (crc >> 8) ^ table[0][(crc ^ *p++) & 0xFF];
  return crc;
}

static uint32_t update_with_word_by_table(uint32_t crc, const uint8_t *p, size_t n, uint64_t word) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(word >> (8 * i));
  return update_by_table(update_by_table(crc, p, n), bytes, 8);
}

#if defined(__x86_64__)

#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static inline uint32_t update_by_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  uint64_t state = crc;
  while (n >= 32) {
    uint64_t words[4];
    memcpy(words, p, 32);
    state = _mm_crc32_u64(state, words[0]);
    state = _mm_crc32_u64(state, words[1]);
    state = _mm_crc32_u64(state, words[2]);
    state = _mm_crc32_u64(state, words[3]);
    p += 32;
    n -= 32;
  }
  while (n >= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    state = _mm_crc32_u64(state, word);
    p += 8;
    n -= 8;
  }
  crc = (uint32_t)state;
  if (n & 4) {
    uint32_t word;
    memcpy(&word, p, 4);
    crc = _mm_crc32_u32(crc, word);
    p += 4;
  }
  for (n &= 3; n > 0; n--) crc = _mm_crc32_u8(crc, *p++);
  return crc;
}

__attribute__((target("sse4.2"))) static uint32_t update_with_word_by_hardware(
    uint32_t crc, const uint8_t *p, size_t n, uint64_t word) {
  return (uint32_t)_mm_crc32_u64(update_by_hardware(crc, p, n), word);
}

static int has_hardware(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)

#include <arm_acle.h>

static uint32_t update_by_hardware(uint32_t crc, const uint8_t *p, size_t n) {
  while (n >= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    crc = __crc32cd(crc, word);
    p += 8;
    n -= 8;
  }
  while (n--) crc = __crc32cb(crc, *p++);
  return crc;
}

static uint32_t update_with_word_by_hardware(uint32_t crc, const uint8_t *p, size_t n, uint64_t word) {
  return __crc32cd(update_by_hardware(crc, p, n), word);
}

static int has_hardware(void) { return 1; }

#else

static uint32_t update_by_hardware(uint32_t crc, const uint8_t *p, size_t n) { return update_by_table(crc, p, n); }

static uint32_t update_with_word_by_hardware(uint32_t crc, const uint8_t *p, size_t n, uint64_t word) {
  return update_with_word_by_table(crc, p, n, word);
}

static int has_hardware(void) { return 0; }

#endif

static uint32_t (*update)(uint32_t, const uint8_t *, size_t);
static uint32_t (*update_with_word)(uint32_t, const uint8_t *, size_t, uint64_t);

__attribute__((constructor)) static void choose(void) {
  fill_table();
  update = has_hardware() ? update_by_hardware : update_by_table;
  update_with_word = has_hardware() ? update_with_word_by_hardware : update_with_word_by_table;
}

uint32_t perdure_crc32c(uint32_t crc, const void *bytes, size_t length) {
  return ~update(~crc, (const uint8_t *)bytes, length);
}

uint32_t perdure_crc32c_word(uint32_t crc, const void *bytes, size_t length, uint64_t word) {
  return ~update_with_word(~crc, (const uint8_t *)bytes, length, word);
}

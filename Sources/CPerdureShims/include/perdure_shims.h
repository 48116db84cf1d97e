#ifndef PERDURE_SHIMS_H
#define PERDURE_SHIMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/// The CRC32C of `length` bytes (Castagnoli, reflected, initial value and final xor 0xFFFFFFFF). It
/// continues from `crc`: the result for the bytes before them, or 0 if there are none.
uint32_t perdure_crc32c(uint32_t crc, const void *bytes, size_t length);

/// CRC32C of `length` bytes, continued over the eight little-endian bytes of `word`.
uint32_t perdure_crc32c_word(uint32_t crc, const void *bytes, size_t length, uint64_t word);

/// Asks the processor to fetch the cache line at `address`; any address is allowed.
static inline void perdure_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/// Resizes `memory`, which is NULL or from this function, to `length` bytes, at least one. Keeps
/// its content up to the new length. Returns the new address, or NULL if the system has no memory
/// left; `memory` is then unchanged. The system moves the pages of large memory without a copy.
static inline void *perdure_resize(void *memory, size_t length) { return realloc(memory, length); }

/// Frees memory from `perdure_resize`; NULL is allowed.
static inline void perdure_free(void *memory) { free(memory); }

/// A word that is not zero in this process, and zero in every process forked from it. Its address
/// stays valid until the process ends. NULL if the system has no memory left.
const uint64_t *perdure_process_mark(void);

/// Makes a fork clear the mark by a handler of pthread_atfork only, as on systems whose kernel
/// cannot clear a page. For tests. Returns 0, without an effect, if the process has a mark already.
int perdure_process_mark_by_handler(void);

/// The length to which this process may extend files now, in bytes; UINT64_MAX without a limit.
uint64_t perdure_file_length_limit(void);

#endif

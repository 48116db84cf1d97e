// A word that is not zero in the process that made it, and zero in every process forked from it.
//
// On Linux the word is in a page that the kernel clears in a child (MADV_WIPEONFORK), however the
// fork is made. On other systems and older kernels, a handler of pthread_atfork clears it. A fork
// that runs no such handlers (a raw system call) is not detected there. On systems without fork the
// word is constant.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "perdure_shims.h"

#if defined(_WIN32)

static const uint64_t always = 1;

const uint64_t *perdure_process_mark(void) { return &always; }

int perdure_process_mark_by_handler(void) { return 1; }

#else

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__) && !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

// The word of this process. In a child, before its first call: the parent's word, which is zero.
static _Atomic(uint64_t *) newest;
// Whether this process has the handler. A child inherits the handler and this flag.
static atomic_int has_handler;
// Whether only the handler is used, as on systems whose kernel cannot clear a page in a child.
static atomic_int is_handler_only;

// Runs in a child, which has one thread.
static void clear_newest(void) {
  uint64_t *word = atomic_load_explicit(&newest, memory_order_relaxed);
  if (word) *word = 0;
}

// Adds the handler. Two threads may both add it: clearing twice is harmless. Returns 0 if the
// system has no memory left.
static int add_handler(void) {
  if (atomic_load(&has_handler)) return 1;
  if (pthread_atfork(NULL, NULL, clear_newest) != 0) return 0;
  atomic_store(&has_handler, 1);
  return 1;
}

// Asks the kernel to clear the page in children. Returns 0 if it cannot.
static int is_cleared_by_kernel(void *page, size_t length) {
#if defined(__linux__)
  if (atomic_load(&is_handler_only)) return 0;
  return madvise(page, length, MADV_WIPEONFORK) == 0;
#else
  (void)page, (void)length;
  return 0;
#endif
}

const uint64_t *perdure_process_mark(void) {
  uint64_t *known = atomic_load_explicit(&newest, memory_order_acquire);
  if (known && *known) return known;
  size_t length = (size_t)sysconf(_SC_PAGESIZE);
  uint64_t *page = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (!is_cleared_by_kernel(page, length) && !add_handler()) {
    munmap(page, length);
    return NULL;
  }
  *page = 1;
  // The parent's word stays allocated, because inherited marks still read it.
  if (atomic_compare_exchange_strong(&newest, &known, page)) return page;
  munmap(page, length);
  return known;
}

int perdure_process_mark_by_handler(void) {
  uint64_t *known = atomic_load_explicit(&newest, memory_order_acquire);
  if (known && *known) return 0;
  atomic_store(&is_handler_only, 1);
  return 1;
}

#endif

// Limits of the process. This code is in C, because the types differ between the C libraries.
#include "perdure_shims.h"

#if defined(_WIN32)

uint64_t perdure_file_length_limit(void) { return UINT64_MAX; }

#else

#include <sys/resource.h>

uint64_t perdure_file_length_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return (uint64_t)limit.rlim_cur;
}

#endif

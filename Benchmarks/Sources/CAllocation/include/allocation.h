#ifndef ALLOCATION_H
#define ALLOCATION_H

#include <stddef.h>

/// Returns the allocated bytes, including the allocator's headers; 0 if the allocator does not
/// report them.
size_t allocated_bytes(void);

#endif

#ifndef ALLOCATION_H
#define ALLOCATION_H

#include <stddef.h>

/// The bytes that the allocator has given out, its own headers included; 0 where it does not say.
size_t allocated_bytes(void);

#endif

/* cg_memory.h: arrays inside one block of memory that the caller owns, and copies between strided arrays. */
#ifndef CG_MEMORY_H
#define CG_MEMORY_H

#include "cg_run.h"

#include <string.h>

#define CG_ALIGNED(size) (((size) + (CG_ALIGN - 1u)) / CG_ALIGN * CG_ALIGN)

/* The next array of so many bytes in the block at `base`; if that is NULL, only counts. */
static inline void *cg_take_bytes(char *base, size_t *offset, size_t bytes)
{
    void *const array = base == NULL ? NULL : (void *)(base + *offset);
    *offset += CG_ALIGNED(bytes);
    return array;
}

/* The next array of `count` numbers. */
static inline double *cg_take(char *base, size_t *offset, int64_t count)
{
    return (double *)cg_take_bytes(base, offset, sizeof(double) * (size_t)count);
}

/* to[i * to_stride] = from[i * stride] */
CG_UNUSED static inline void cg_gather(double *to, int64_t to_stride, const double *from, int64_t stride, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i * to_stride] = from[i * stride];
    }
}

/* Copies one value for each lane; with a constant size this is a few instructions. */
CG_UNUSED static inline void cg_copy_lanes(void *to, const void *from, int32_t lanes)
{
    switch (lanes) {
    case 8: memcpy(to, from, 8 * sizeof(double)); break;
    case 4: memcpy(to, from, 4 * sizeof(double)); break;
    default: memcpy(to, from, (size_t)lanes * sizeof(double)); break;
    }
}

#endif /* CG_MEMORY_H */

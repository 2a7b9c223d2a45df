/* cg_memory.h: arrays inside one block of memory that the caller owns, and copies between strided arrays. */
#ifndef CG_MEMORY_H
#define CG_MEMORY_H

#include "cg_run.h"

#define CG_ALIGNED(size) (((size) + (CG_ALIGN - 1u)) / CG_ALIGN * CG_ALIGN)

/* The next array of `count` eight-byte numbers in the block at `base`; if that is NULL, only counts. */
static inline double *cg_take(char *base, size_t *offset, int64_t count)
{
    double *const array = base == NULL ? NULL : (double *)(void *)(base + *offset);
    *offset += CG_ALIGNED(sizeof(double) * (size_t)count);
    return array;
}

/* to[i * to_stride] = from[i * stride] */
CG_UNUSED static inline void cg_gather(double *to, int64_t to_stride, const double *from, int64_t stride, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i * to_stride] = from[i * stride];
    }
}

#endif /* CG_MEMORY_H */

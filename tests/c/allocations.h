/* allocations.h: counts the allocations of a program. The linker redirects them here, with CG_COUNT_ALLOCATIONS and
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc (see COUNT in test_c_core.py). Include in one source file only. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>

#ifdef CG_COUNT_ALLOCATIONS
static long allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size) { return allocations++, __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return allocations++, __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return allocations++, __real_realloc(old, size); }
#else
static const long allocations = 1;
#endif

#endif

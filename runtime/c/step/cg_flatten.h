/* cg_flatten.h: whether a model's right-hand side is copied into every stage of every method: CG_COPIED, and
 * CG_FLATTEN as cg_method.h has it. Included by cg_inline.h and cg_lanes_inline.h.
 *
 * A short right-hand side is copied: for the heavy top this saves a fifth of the time. By default compilers would call
 * a single copy. A long one is called: 20 copies would take minutes to compile and not fit the instruction cache.
 */
#ifndef CG_FLATTEN_H
#define CG_FLATTEN_H

#ifndef CG_INLINE_OPERATIONS
#if CG_LANES < 4 || !defined(__FMA__)
#define CG_INLINE_OPERATIONS 250
#else
#define CG_INLINE_OPERATIONS 400 /* of vectors: five links take 5 % less time so, their file 3 s to compile instead of 1.2 */
#endif
#endif

#ifndef CG_FEW_STATES
#define CG_FEW_STATES 5
#endif

#if defined(__GNUC__) && defined(CG_MODEL_OPERATIONS) && CG_MODEL_OPERATIONS <= CG_INLINE_OPERATIONS
#define CG_COPIED 1
#else
#define CG_COPIED 0
#endif

#if CG_COPIED && CG_LANES == 1 && CG_MODEL_N <= CG_FEW_STATES
#define CG_APART 1
#else
#define CG_APART 0
#endif

#if CG_COPIED && defined(__clang__)
#define CG_FLATTEN __attribute__((flatten)) /* clang applies it to the calls written in the function */
#else
#define CG_FLATTEN
#endif
#if CG_COPIED && !defined(__clang__) /* gcc accepts it after the definition */
inline __attribute__((always_inline)) __typeof__(CG_MODEL_RHS) CG_MODEL_RHS;
#endif

#endif /* CG_FLATTEN_H */

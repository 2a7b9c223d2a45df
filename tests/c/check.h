/* check.h: a minimal test framework: CHECK counts and reports, main returns the number of failures. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int check_failures;

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            check_failures++;                                                     \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);        \
        }                                                                         \
    } while (0)

/* |a - b| <= tolerance; reports the values. */
#define CHECK_NEAR(a, b, tolerance)                                               \
    do {                                                                          \
        const double check_a = (a), check_b = (b), check_d = check_a - check_b;   \
        if (!(check_d <= (tolerance) && -check_d <= (tolerance))) {               \
            check_failures++;                                                     \
            printf("%s:%d: failed: %s = %.17g, %s = %.17g\n", __FILE__, __LINE__, \
                   #a, check_a, #b, check_b);                                     \
        }                                                                         \
    } while (0)

#define CHECK_DONE()                                                              \
    do {                                                                          \
        printf("%s: %d failed\n", __FILE__, check_failures);                      \
        return check_failures != 0;                                               \
    } while (0)

#endif

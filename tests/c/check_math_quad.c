/* check_math_quad.c: errors in units of the last place, by libquadmath's 113 bits, for test_math.py. */
#include <quadmath.h>
#include <stddef.h>
#include <string.h>

__extension__ typedef __float128 wide_t;

static const struct {
    const char *name;
    wide_t (*one)(wide_t);
    wide_t (*two)(wide_t, wide_t);
} functions[] = {
    {"sin", sinq, NULL},   {"cos", cosq, NULL},   {"tan", tanq, NULL},     {"asin", asinq, NULL}, {"acos", acosq, NULL},
    {"atan", atanq, NULL}, {"sinh", sinhq, NULL}, {"cosh", coshq, NULL},   {"tanh", tanhq, NULL}, {"exp", expq, NULL},
    {"log", logq, NULL},   {"sqrt", sqrtq, NULL}, {"atan2", NULL, atan2q}, {"pow", NULL, powq},
};

/* error[i] = |value[i] - name(x[i], y[i])| in units of the binade of the exact value. Infinities and values above
 * 2^1024 count as 2^1024. Returns 1 for an unknown name. */
int check_math_quad(const char *name, ptrdiff_t n, const double *x, const double *y, const double *value, double *error);
int check_math_quad(const char *name, ptrdiff_t n, const double *x, const double *y, const double *value, double *error)
{
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        if (strcmp(functions[f].name, name) != 0) {
            continue;
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            const wide_t top = ldexpq(1, 1024);
            wide_t exact = functions[f].one ? functions[f].one(x[i]) : functions[f].two(x[i], y[i]);
            wide_t found = value[i];
            const wide_t midpoint = top - ldexpq(1, 970);
            exact = exact >= midpoint ? top : exact <= -midpoint ? -top : exact;
            found = isinfq(found) ? (found > 0 ? top : -top) : found;
            int exponent;
            (void)frexpq(exact, &exponent);
            exponent = exponent > 1024 ? 971 : exponent < -1021 ? -1074 : exponent - 53;
            error[i] = (double)ldexpq(fabsq(found - exact), -exponent);
            if (found != found) {
                error[i] = 1e300;
            }
        }
        return 0;
    }
    return 1;
}

/* cg_quantile.c: quantile functions. See cg_quantile.h. */
#include "cg_quantile.h"
#include "cg_math.h"
#include "chaplygin.h"

/* a[0] + a[1] x + ... + a[7] x^7 */
static CG_INLINE double cg_quantile_septic(const double *a, double x)
{
    return ((((((a[7] * x + a[6]) * x + a[5]) * x + a[4]) * x + a[3]) * x + a[2]) * x + a[1]) * x + a[0];
}

/* The standard normal quantile by the rational functions of M. J. Wichura, Applied Statistics 37 (1988) 477-484,
 * algorithm AS 241, PPND16: a relative error of 1e-16 before rounding. Here for |u - 1/2| > 0.425. */
static double cg_quantile_tail(double u)
{
    static const double c[8] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                                1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    static const double e[8] = {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[8] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
    const double q = u - 0.5;
    double r = sqrt(-cg_log(q < 0.0 ? u : 1.0 - u));
    const int far = r > 5.0;
    r -= far ? 5.0 : 1.6;
    const double z = cg_quantile_septic(far ? e : c, r) / cg_quantile_septic(far ? f : d, r);
    return q < 0.0 ? -z : z;
}

/* The same for n numbers: most are in the middle, which compilers do several at a time. */
static void cg_quantile_normal(const double *u, double *z, int64_t n)
{
    static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                                2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
                                5.2264952788528545610e3};
    for (int64_t i = 0; i < n; i++) {
        const double q = u[i] - 0.5, r = 0.180625 - q * q;
        z[i] = q * cg_quantile_septic(a, r) / cg_quantile_septic(b, r);
    }
    for (int64_t i = 0; i < n; i++) {
        const double q = u[i] - 0.5;
        if (!(0.180625 - q * q >= 0.0)) {
            z[i] = cg_quantile_tail(u[i]);
        }
    }
}

/* A table has in `a`: the first z, the number of cells in a unit of z, the degree d, and then for each cell the d + 1
 * coefficients of the powers of s, from the highest, where s runs from -1 to 1 in the cell. Beyond its ends the first and
 * the last cell are continued. */
enum { CG_TABLE_HEAD = 3, CG_QUANTILE_BLOCK = 64 };

static double cg_quantile_table(const double *a, int64_t cells, double z)
{
    const int64_t width = (int64_t)a[2] + 1;
    const double place = (z - a[0]) * a[1];
    const double inside = cg_smaller(cg_larger(place, 0.0), (double)cells - 0.5);
    const int64_t cell = (int64_t)inside;
    const double s = 2.0 * (place - (double)cell) - 1.0;
    const double *coefficient = a + CG_TABLE_HEAD + cell * width;
    double value = coefficient[0];
    for (int64_t i = 1; i < width; i++) {
        value = value * s + coefficient[i];
    }
    return value;
}

/* The number of cells of a table, 0 if it is none. */
static int64_t cg_quantile_cells(const double *a, int64_t n_a)
{
    if (n_a <= CG_TABLE_HEAD || !(a[1] > 0.0) || !(a[2] >= 0.0 && a[2] < 64.0)) {
        return 0;
    }
    const int64_t width = (int64_t)a[2] + 1, rest = n_a - CG_TABLE_HEAD;
    return rest % width == 0 ? rest / width : 0;
}

/* That of a number v in (0, 1), where z is the standard normal one if the law needs it. */
static double cg_quantile_at(int law, const double *a, int64_t cells, double v, double z)
{
    switch (law) {
    case CG_LAW_UNIFORM:
        return a[0] + a[1] * v;
    case CG_LAW_NORMAL:
        return a[0] + a[1] * z;
    case CG_LAW_LOGNORMAL:
        return a[0] + a[1] * cg_exp(a[2] * z);
    case CG_LAW_EXPONENTIAL:
        return a[0] - a[1] * cg_log(1.0 - v);
    case CG_LAW_WEIBULL:
        return a[0] + a[1] * cg_pow(-cg_log(1.0 - v), a[2]);
    default:
        return cg_quantile_table(a, cells, z);
    }
}

int cg_quantile(int law, const double *a, int64_t n_a, const double *u, double *out, int64_t n)
{
    static const int64_t lengths[CG_LAW_TABLE] = {2, 2, 3, 2, 3};
    const int64_t cells = law == CG_LAW_TABLE ? cg_quantile_cells(a, n_a) : 0;
    if (law < 0 || law > CG_LAW_TABLE || (law == CG_LAW_TABLE ? cells == 0 : n_a != lengths[law])) {
        return CG_BAD_ARGUMENT;
    }
    double z[CG_QUANTILE_BLOCK] = {0.0};
    int status = CG_OK;
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = i % CG_QUANTILE_BLOCK, left = n - i;
        if (j == 0 && law != CG_LAW_UNIFORM && law != CG_LAW_EXPONENTIAL && law != CG_LAW_WEIBULL) {
            cg_quantile_normal(u + i, z, left < CG_QUANTILE_BLOCK ? left : CG_QUANTILE_BLOCK); /* `out` may be `u` */
        }
        const int inside = u[i] > 0.0 && u[i] < 1.0;
        out[i] = inside ? cg_quantile_at(law, a, cells, u[i], z[j]) : (double)NAN;
        status = inside ? status : CG_BAD_ARGUMENT;
    }
    return status;
}

/* single.h: the right-hand side for one trajectory, with LANES 1.
 *
 * Included after N, constants_t, prepare, scaled_t, scale and increment.
 */
#if LANES == 1

_Static_assert(sizeof(constants_t) % sizeof(double) == 0, "constants are passed as an array of double");

int reference_constants(const double *parameters, double *constants);
void reference_rhs(double t, double *y, double *out, double *constants);

/* Computes what reference_rhs takes as parameters; returns how many numbers these are. */
int reference_constants(const double *parameters, double *constants)
{
    *(constants_t *)(void *)constants = prepare(parameters);
    return (int)(sizeof(constants_t) / sizeof(double));
}

/* In the form that numbalsoda calls. */
void reference_rhs(double t, double *y, double *out, double *constants)
{
    const scaled_t scaled = scale((const constants_t *)(const void *)constants, splat(1.0));
    (void)t;
    increment(&scaled, (const real_t *)(const void *)y, (real_t *)(void *)out);
}

#endif

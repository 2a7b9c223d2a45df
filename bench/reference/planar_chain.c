/*
 * planar_chain.c: n equal rods that hang from each other's ends by hinges, in relative angles, by the articulated-body
 * recursion in the plane as one writes it by hand: everything in axes fixed in space, where nothing has to be rotated.
 * LINKS is their number n.
 *
 * Rod i has the direction e_i = (sin phi_i, -cos phi_i), with phi_i the sum of the first angles, and e'_i = phi'_i n_i.
 * The parent's force on it at its joint is F_i = M_i a_i + f_i, a_i the acceleration of the joint less that of gravity.
 * With M, f of the next rod and b = f - l phi'^2 M e the rod's own balances of forces and of moments about the joint are
 *     F_i = (m + M) a_i + u alpha + c,   u = m l/2 n + l M n,   c = b - m l/2 phi'^2 e,
 *     0 = D alpha + u . a_i + l n . b,   D = m l^2/3 + l^2 n . M n,
 * so that M_i = m + M - u u^T / D and f_i = c - u (l n . b) / D.
 */
#include <math.h>

void planar_chain(const double *restrict x, const double *restrict p, double *restrict out);

void planar_chain(const double *restrict x, const double *restrict p, double *restrict out)
{
    const double m = p[0], l = p[1], g = p[2], half = 0.5 * m * l, moment = m * l * l / 3.0;
    double sine[LINKS], cosine[LINKS], square[LINKS], inverse[LINKS], ux[LINKS], uy[LINKS], torque[LINKS];
    double angle = 0.0, rate = 0.0;

    for (int i = 0; i < LINKS; i++) {
        angle += x[i];
        rate += x[LINKS + i];
        sine[i] = sin(angle);
        cosine[i] = cos(angle);
        square[i] = rate * rate;
    }

    double xx = 0.0, xy = 0.0, yy = 0.0, fx = 0.0, fy = 0.0;

    for (int i = LINKS - 1; i >= 0; i--) {
        const double s = sine[i], c = cosine[i]; /* e = (s, -c), n = (c, s) */
        const double nx = l * (xx * c + xy * s), ny = l * (xy * c + yy * s);
        const double pull = l * square[i], own = half * square[i];
        const double bx = fx - pull * (xx * s - xy * c), by = fy - pull * (xy * s - yy * c);

        ux[i] = half * c + nx;
        uy[i] = half * s + ny;
        inverse[i] = 1.0 / (moment + l * (c * nx + s * ny));
        torque[i] = l * (c * bx + s * by);

        const double kx = ux[i] * inverse[i], ky = uy[i] * inverse[i];

        xx += m - kx * ux[i];
        xy -= kx * uy[i];
        yy += m - ky * uy[i];
        fx = bx - own * s - kx * torque[i];
        fy = by + own * c - ky * torque[i];
    }

    double ax = 0.0, ay = g, before = 0.0;

    for (int i = 0; i < LINKS; i++) {
        const double alpha = -(ux[i] * ax + uy[i] * ay + torque[i]) * inverse[i];

        out[i] = x[LINKS + i];
        out[LINKS + i] = alpha - before;
        before = alpha;
        ax += l * (alpha * cosine[i] - square[i] * sine[i]);
        ay += l * (alpha * sine[i] + square[i] * cosine[i]);
    }
}

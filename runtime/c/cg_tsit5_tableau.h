/* cg_tsit5_tableau.h: the coefficients of Tsit5, an explicit Runge-Kutta pair of order 5(4).
 *
 * Source: Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption,
 * Computers & Mathematics with Applications 62 (2011) 770-775. The paper prints 16 digits; these are the doubles
 * nearest to 36-digit coefficients that satisfy the order conditions to 1e-34. The interpolant is that of the paper:
 * order 4, matching value and slope at both ends, with 0.1017 theta^4 in the second weight.
 *
 * Stages 0..5 make the step; row 6 contains its weights, so that stage 6 is the derivative at the step's end, which the
 * error estimate uses too. Checked in the tests: row sums, the order conditions of all rooted trees up to order 5, of
 * the error estimate up to order 4, and of the interpolant.
 */
#ifndef CG_TSIT5_TABLEAU_H
#define CG_TSIT5_TABLEAU_H

#define CG_TSIT5_STAGES 7
#define CG_TSIT5_ALL 7
#define CG_TSIT5_DENSE 5

/* Stage s is evaluated at t + c[s] h. */
static const double cg_tsit5_c[CG_TSIT5_ALL] = {
    0.0, 0.161, 0.32700000000000001, 0.90000000000000002, 0.98002554090450966, 1.0, 1.0};

/* Stage s is evaluated at x + h sum_j a[s][j] k_j. */
static const double cg_tsit5_a[CG_TSIT5_ALL][CG_TSIT5_ALL] = {
    {0.0},
    {0.161},
    {-0.0084806554923569887, 0.335480655492357},
    {2.8971530571054935, -6.3594484899750752, 4.3622954328695815},
    {5.3258648284392569, -11.748883564062828, 7.4955393428898365, -0.092495066361755252},
    {
        5.8614554429464203, -12.92096931784711, 8.1593678985761589, -0.071584973281400996,
        -0.028269050394068383},
    {
        0.09646076681806523, 0.01, 0.4798896504144996, 1.3790085741037419, -3.2900695154360808,
        2.3247105240997739}};

/* Error estimate of order 4: h sum_j e[j] k_j. */
static const double cg_tsit5_e[CG_TSIT5_STAGES] = {
    -0.0017800110522257714, -0.00081643445965674691, 0.0078808780102619953, -0.14471100717326291,
    0.58235716545255523, -0.45808210592918697, 0.015151515151515152};

/* Coefficient 4 of the interpolant: h sum_j d[m][j] k_j. Its published weights are polynomials in powers of theta;
 * these are the same polynomials in the basis of cg_dense_evaluate, converted in rational numbers. */
static const double cg_tsit5_d[CG_TSIT5_DENSE - 4][CG_TSIT5_ALL] = {
    {
        -1.0530884977290216, 0.1017, 2.4906272856512528, -16.548102889244902, 47.379521962819283,
        -34.870657861496611, 2.5}};

#endif /* CG_TSIT5_TABLEAU_H */

/* day.c: a day of 1 ms steps by the clock of single precision (float/cg_time.h), without a model. */
#include "cg_run.h"

#include <stdio.h>

/* The steps of a run that is advanced by the caller, in `rounds` calls of as many steps each. */
static int64_t steps(cg_run_t *run, int64_t rounds, int64_t each, float h)
{
    int64_t count = 0;
    for (int64_t round = 1; round <= rounds; round++) {
        cg_time_rebase(run);
        cg_time_stop_at(run, CG_TIME(round * each, 1000));
        while (run->t != run->t_stop) {
            cg_time_rebase(run);
            run->t_old = run->t;
            run->t = run->t_stop - h < 1e-6f * h ? run->t_stop : h; /* as cg_plan_fixed */
            count++;
        }
    }
    return count;
}

int main(void)
{
    static cg_run_t run;
    const int64_t day = 86400000;
    for (int64_t each = 1; each <= day; each *= day) {
        cg_time_begin(&run, 0);
        const int64_t count = steps(&run, day / each, each, 0.001f);
        printf("%lld %lld\n", (long long)count, (long long)cg_time_outside(&run, run.t));
    }
    return 0;
}

/* Prints the final states of runs of the heavy top in hexadecimal: every method, inlined and through the table. */
#include "helpers.h"

int main(void)
{
    static const double start[7] = {0.96891242171064478414, 0.24740395925452292960, 0.0, 0.0, 0.3, -0.2, 4.0};
    for (int m = 0; m < 2 * N_METHODS; m++) {
        cg_run_t *const run = make_run(&top_model, methods[m / 2], m % 2 ? CG_RUN_TABLE : 0, 1e-9);
        run->first_step = m < 2 ? 0.01 : 0.0;
        const int status = go(run, 0.0, start, 20.0, NULL);
        for (int i = 0; i < 7; i++) {
            printf("%a ", status == CG_OK ? run->x[i] : HUGE_VAL);
        }
        printf("\n");
        cg_run_delete(run);
    }
    return check_failures;
}

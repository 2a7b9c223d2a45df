/* Two FMUs in one program: the bits of their states. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int left_run(double *out);
int right_run(double *out);

int main(void)
{
    double found[2][64] = {{0.0}};
    int i, j, sizes[2] = {LEFT, RIGHT};
    if (left_run(found[0]) != 0 || right_run(found[1]) != 0)
        return 1;
    for (i = 0; i < 2; i++)
        for (j = 0; j < sizes[i]; j++) {
            uint64_t bits;
            memcpy(&bits, &found[i][j], sizeof bits);
            printf("%016" PRIx64 "\n", bits);
        }
    return 0;
}

"""`LoweringOptions`: how much is searched, and how long is too long, on the way from equations to statements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoweringOptions:
    """The thresholds of `lower` and of the passes of `plan`, in operations unless it says otherwise.

    `unrolled_jacobian` : a longer Jacobian is emitted as a loop over `jvp`.

    The search for fewer operations:
    `budget` : nodes visited in all trials for one kernel together.
    `growth` : maximum number of terms per node of the kernel after expansion.
    `worth` : an arrangement is factored only if, before factoring, it is at most this many times as long as the best
        one. Of 121 improvements found in the whole catalogue, the longest was 8 % longer.
    `hopeless` : a simple choice of sums to expand is not factored if it is more than this many times as long as the
        shortest. Where many results contain one long sum, that is written out in each of them: its factoring takes
        quadratic time. Of all in the catalogue that proved the cheapest, the longest was 3.5 times as long.
    `common` : terms of a sum are not compared for a factor that more of its terms than these have.
    `largest_arranged` : nodes of a rarely called kernel up to which it is arranged; the right-hand side always is.

    Loops over cells:
    `fewest_looped` : from here on a kernel of repeated cells is emitted as loops.
    `longest_written_out` : up to here a kernel is written out if templates would be longer than three quarters of it.
        Over lanes the records of 30 different joints cost a third of the time.
    `longest_cell` : the longest cell up to which that depends on the length of the kernel.
    `longest_period` : maximum number of cells that a loop repeats together.
    `longest_of_matrices` : operations and results up to which a kernel with large matrices is written out.
    `factoring_share` : what factoring takes, in parts of the other operations, from where on their time hardly matters.

    Texts:
    `longest_statement` : longer expressions are split for readability.
    `longest_function` : the largest number of statements at which a kernel stays in one function.
    `piece` : statements per function when a kernel is split.
    """

    unrolled_jacobian: int = 4000
    budget: int = 12_000
    growth: int = 3
    worth: float = 1.1
    hopeless: float = 4
    common: int = 40
    largest_arranged: int = 4000
    fewest_looped: int = 500
    longest_written_out: int = 10_000
    longest_cell: int = 1000
    longest_period: int = 12
    longest_of_matrices: int = 5000
    factoring_share: int = 4
    longest_statement: int = 12
    longest_function: int = 450
    piece: int = 300


DEFAULT = LoweringOptions()

/* cg_status.c: statuses in words; see cg_driver.h. */
#include "cg_driver.h"

const char *cg_status_text(int status)
{
    switch (status) {
    case CG_OK:
        return "success";
    case CG_TERMINAL_EVENT:
        return "a terminal event ended the run";
    case CG_OUTPUT_FULL:
        return "the record has no room";
    case CG_BUDGET_USED:
        return "the budget of steps is used";
    case CG_EVENTS_FULL:
        return "the log of events has no room";
    case CG_SINGULAR:
        return "the mass matrix or the constraints are singular";
    case CG_NONFINITE:
        return "a state or its rate is not finite";
    case CG_STEP_TOO_SMALL:
        return "the step size fell below the spacing of floating-point numbers";
    case CG_TOO_MANY_STEPS:
        return "the limit on the number of steps was reached";
    case CG_INTERRUPTED:
        return "the run was interrupted";
    case CG_INPUT_FAILED:
        return "an input function failed";
    case CG_BAD_ARGUMENT:
        return "an argument is outside its range";
    case CG_UNSUPPORTED:
        return "the model lacks a kernel that the run needs";
    case CG_ACCUMULATING:
        return "events accumulate: they follow one another at ever shorter intervals, or a reset leaves the motion where it "
               "goes straight back";
    case CG_PARADOX:
        return "no contact mode satisfies the equations, or more than one does";
    case CG_TOO_MANY_MODES:
        return "there are too many contact modes to try them all";
    case CG_TANGENT_EVENT:
        return "the motion touches an event without crossing it, so that its derivatives do not exist";
    case CG_RANK_CHANGED:
        return "the rank of the constraints changed: the loops are in a singular position";
    case CG_UNCLOSED:
        return "the state cannot be brought back onto the constraints";
    case CG_ORDER_MATTERS:
        return "several things happen at one instant, in an order that matters, so that its derivatives do not exist";
    default:
        return "unknown status";
    }
}

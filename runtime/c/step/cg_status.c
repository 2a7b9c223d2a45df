/* cg_status.c: statuses in words; see cg_driver.h. */
#include "cg_driver.h"

#define CG_STATUS_CASE(name, value, text)                                                                             \
    case name: return text;

const char *cg_status_text(int status)
{
    switch (status) {
        CG_STATUSES(CG_STATUS_CASE)
    case CG_OUTPUT_FULL:
        return "the record has no room";
    case CG_BUDGET_USED:
        return "the budget of steps is used";
    case CG_EVENTS_FULL:
        return "the log of events has no room";
    default:
        return "unknown status";
    }
}

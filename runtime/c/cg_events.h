/* cg_events.h: detection of events, kinks and Coulomb contacts in one run, and the log of what was found.
 *
 * A detector is a block of memory of its own, attached to a run before cg_run_start:
 *     size_t size = cg_detector_size(model, n_functions);
 *     cg_detector_t *detector = cg_run_new(size);
 *     cg_detector_init(detector, size, model, n_functions, CG_WATCH_KINKS);
 *     run->detector = detector;
 * A run without a detector looks for nothing and has no extra cost.
 *
 * Observed quantities, by index: the events of the model, its kinks, the caller's functions, and three quantities of
 * each contact. After each step every one is sampled on the interpolant and each sign change is found (cg_bracket.c);
 * the step is repeated up to the earliest one, so that the time of an event is as accurate as the method. The tangent at
 * its end leads to where the quantity is zero to rounding; if that is further away than CG_TANGENT of the step, so that
 * the tangent is not the motion to rounding, the step is repeated up to there. The rules:
 *   - A sign change is a crossing; touching zero and turning back is not, also where the state is off the constraints by its
 *     error, and so seems to cross (cg_touch.c). Two crossings are two events.
 *   - A quantity that has just crossed has the sign of the far side until it crosses again, so no crossing is found
 *     twice.
 *   - At the start and after a reset, the side of a guard that is zero to rounding is that to which the flow takes it
 *     first (cg_sides.c). One that the reset has not moved, or whose event has a reset, keeps the side it had, or at the
 *     start the one from which it can occur (the other one, where the run goes on from that event), so that leaving to the
 *     other side is a crossing, then and there. One that stays at zero goes on to keep it.
 *   - After a reset, what counts for a guard that jumps over zero where the state is is its distance from there, not its value;
 *     until that is visible, its sign is rounding, and it is on the side to which the flow takes it (cg_surface.c).
 *   - A kink that rests at zero to rounding, as where x stops at a limit, leaves it with the kink that releases it, by the flow after
 *     that; else at the start of the step in which it is seen to have left.
 *   - What is zero where a kink is crossed, to the rounding of state and time, and is carried across by the motion before, occurs
 *     with the kink, and nothing else does.
 *   - A guard that vanishes where contacts stick is not observed meanwhile, and has no side when they slip (cg_held.c).
 *   - A jump over zero in a reset is not a crossing; a jump over zero caused by an input is, at the beginning of the step
 *     after it. Inputs that are set before the first step belong to the start.
 *   - When the choice of modes starts a slip, its velocity has left zero to its own side: a dip of the interpolant to
 *     the other side that ends before the first sample inside the step is ignored; a longer one is a stop at the start
 *     of the step.
 *   - Crossings closer than CG_SAME_TIME of the step (or 4 spacings of the numbers at t) count as simultaneous: they
 *     are handled, and their resets applied, in index order. One in the direction that does not count is not done yet then:
 *     a reset may turn it back, and the guard has only touched zero.
 *   - Resolution: a quantity is approximated by polynomials of degree 8 over pieces of the step, from the whole step
 *     down to 1/64 of it, until the last coefficients are below CG_FOLLOWED of the largest or 1000 times smaller than the
 *     distance from zero. For a quantity of that smoothness, crossings and pairs of crossings are missed only through
 *     rounding: where coefficients alone decide, they prove that the polynomial is further than CG_CLEAR of the largest
 *     and than 1000 times the last coefficients from zero, except towards a first sample whose side is known and around
 *     a single zero, and there it has the slope of that distance. A dip that is narrower than 1/500 of the step and falls
 *     between all samples is missed; reduce max_step in that case.
 *   - An event with a condition occurs only where that holds on the side from which the motion comes; elsewhere its guard has
 *     crossed zero, and nothing else happens.
 *   - A reset that leaves the constraints ends the run with CG_UNCLOSED; nothing is moved.
 *   - Accumulation: after its own reset, a guard bends back to the side from which the event occurred, before time or
 *     state resolve that it left; or events follow one another at one time, more of them than 100 and the square of their
 *     number in the model; or contacts and functions 10000 times in a row within 1e-6 of the longest earlier time between
 *     two events. The time is then that of the limit, if the ratio of the last flights of the event has settled.
 */
#ifndef CG_EVENTS_H
#define CG_EVENTS_H

#include "cg_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cg_detector_flags {
    CG_WATCH_KINKS = 1, /* also find the kinks of the model: a step ends at each */
    CG_LOG_FIELDS = 2,  /* the log has what cg_jump_at_t tells */
    CG_LOG_FAILURES = 4 /* where tangents have no derivative, the log says so, and the run goes on */
};

/* A kink is located by repeating the step up to it. A step that the method rejects and that ends behind a kink is not made shorter
 * by its error, which a jump of the field or, with derivatives, of its Jacobian keeps above the tolerance, but repeated up to there.
 * Where the motion slides along a kink, since the equations of each side lead back to the other, that would be without end: after
 * a kink behind which the motion goes straight back, steps are accepted as the method takes them, and their kinks are not found,
 * until there have been CG_KINK_PAUSE without one. In a run with derivatives, which change where the field jumps, such kinks
 * accumulate instead, as events do. */
enum { CG_KINK_PAUSE = 8 };

/* What to do if several contact modes fit; if none fits, the run always stops. */
enum cg_paradox_rule {
    CG_PARADOX_STOP = 0,  /* end the run with CG_PARADOX */
    CG_PARADOX_KEEP = 1,  /* choose the solution that changes the fewest modes */
    CG_PARADOX_STICK = 2  /* choose the solution in which most contacts stick */
};

/* The quantities of a contact: detector->first_contact + CG_CONTACT_OBSERVED * contact + one of these. */
enum cg_contact_observed {
    CG_CONTACT_SLIP = 0,    /* slipping: the slip velocity falls to zero; sticking: the force reaches +limit */
    CG_CONTACT_BREAK = 1,   /* sticking: the force reaches -limit */
    CG_CONTACT_NORMAL = 2,  /* the normal force changes sign */
    CG_CONTACT_OBSERVED = 3
};

/* A sticking contact breaks when the force exceeds its limit by a fraction of 1e-12: despite rounding, a tie is stick. */
#define CG_CONTACT_LIMIT (1.0 + 1e-12)

/* value = g(t, x) of the caller's function `index`. Any result except CG_OK ends the run. */
typedef int (*cg_event_fn_t)(void *context, int32_t index, double t, const double *x, double *value);

/* A row of the log: [0] t, [1] index of the quantity or CG_LOG_START, [2] rows recorded before, [3] 1 if the run ends,
 * then n states before, n states after, n_modes modes before, n_modes modes after. With CG_LOG_FIELDS then the number of the
 * instant, the group, and n rates before and n rates after it, as cg_jump_at_t tells them; the modes before are those before
 * the group. */
enum { CG_LOG_HEAD = 4, CG_LOG_START = -1 };

/* What a detector knows of run->t. From CG_WATCH_READY on: the modes and the sides. */
enum cg_detector_begun {
    CG_WATCH_NEW = 0,   /* nothing */
    CG_WATCH_AGAIN = 1, /* nothing, in the middle of a run */
    CG_WATCH_MODES = 2, /* the sides: inputs have changed, and with them the modes that fit */
    CG_WATCH_READY = 3, /* at a start, where inputs may still be set */
    CG_WATCH_BEGUN = 4  /* after a step: inputs that change now can carry a quantity to the other side */
};

enum { CG_SOLUTIONS = 16, CG_MOST_CONTACTS = 64 }; /* solutions kept of a paradox; contacts of a model */

/* The part of a detector that a saved run keeps, besides what it keeps of each quantity. */
typedef struct cg_detector_memory {
    int32_t begun;     /* enum cg_detector_begun */
    int32_t stuck;     /* events in a row without progress */
    int32_t reserved;
    int64_t rounds;    /* in which something has been handled */
    int32_t crowded;   /* other quantities in a row close together */
    int32_t pause;     /* steps without a kink that are left before kinks are located again */
    double longest;    /* the longest time between two events */
    cg_time_t t_event; /* time of the last event, or of the start */
    double direction;  /* direction of the run when the signs were set */
} cg_detector_memory_t;

/* What the flow from an instant shows of a guard that is zero there. */
typedef struct cg_ahead {
    double side;     /* that it takes first; 0: none that is visible */
    double size;     /* of the guard when it first is visible */
    double time;     /* how much later it shows that side */
    int32_t bends;   /* its slope is zero, as far as one sees */
    int32_t settled; /* enough is known */
    int32_t rested;  /* its event occurs where it rested at zero */
    int32_t jumps;   /* it jumps over zero here: its distance from there is what is seen (cg_surface.c) */
} cg_ahead_t;

/* The occurrences of an event: the times between the last ones. */
typedef struct cg_flights {
    cg_time_t t;   /* of the last one */
    double gap;    /* since the one before */
    double ratio;  /* of the last two gaps */
    double before; /* the ratio before */
    int64_t round; /* the number of the round of handling in which it was */
} cg_flights_t;

typedef struct cg_detector {
    /* Set by the caller. */
    cg_event_fn_t fn; /* the caller's functions; NULL if there are none */
    void *fn_context;
    double *log;          /* NULL: nothing is logged */
    int64_t log_capacity; /* rows that fit: at least n_observed, which may occur at once */
    int64_t n_log;
    int32_t rule;         /* enum cg_paradox_rule */

    /* Sizes, fixed by cg_detector_init. */
    int32_t n;
    int32_t n_inputs;
    int32_t n_guards;
    int32_t n_functions;
    int32_t n_contacts;
    int32_t n_modes;
    int32_t n_consistency;
    int32_t first_contact;
    int32_t n_observed;
    int32_t log_row; /* numbers in a row of the log */
    int32_t have_end; /* `end` contains the values at run->t */
    int32_t logs_fields; /* 1: with CG_LOG_FIELDS */
    int32_t goes_on;     /* 1: with CG_LOG_FAILURES */
    int32_t n_instants;  /* at which something has happened */
    size_t size;

    /* Arrays inside the block, by index of the observed quantity. */
    double *direction; /* +1: rising, -1: falling, 0: both; the caller can set it for its functions */
    double *limit;     /* occurrences until the run ends, 0: never; likewise */
    double *sign;      /* [n_observed] side of zero at run->t: -1, +1, or 0 if not known yet */
    double *kept;      /* [n_guards] while `sign` is 0: the side that it keeps until it leaves zero; 0: none */
    double *noise;     /* [n_guards] a value below this was rounding, at the last instant; below 0: so is its sign, this long */
    double *before;    /* [n_guards] the values before what happens at run->t */
    double *turned;    /* [n_guards] 1: its own reset made it go back, one of several at run->t: the others may undo that */
    double *count;     /* occurrences so far */
    double *sign_new;  /* `sign` during the search */
    double *active;    /* 1, or 0: not observed now */
    double *root;      /* next sign change in the step, as a fraction of it; 2: none */
    double *cursor;    /* where the search for it starts */
    double *fired;     /* 1: occurs at run->t */
    double *fires;     /* 1: so does this, after what has fired */
    double *scale;     /* largest magnitude in the last step */
    double *samples;   /* [CG_NODES][n_observed] */
    double *end;       /* values at run->t */
    double *values;    /* values at one point */
    double *x;         /* [ld] a state inside the step */
    double *x_jump;    /* [ld] a state after a reset */
    double *f;         /* [ld] a derivative */
    double *flow;      /* [3 * ld] a step of the flow ahead */
    double *tolerance; /* [ld] of the state at a jump */
    double *guards;    /* [n_guards] output of the kernel */
    double *contacts;  /* [5 * n_contacts] */
    double *ahead;     /* [5 * n_contacts] the same a moment later */
    double *modes;     /* [n_modes] modes before an event */
    double *present;   /* [n_modes] modes before a choice */
    double *chosen;    /* [n_modes] modes after an event, while others are tried */
    double *free;      /* [n_contacts] 1: the contact may take any mode */
    double *solutions; /* [CG_SOLUTIONS][n_modes] */
    double *forces;    /* [CG_SOLUTIONS][n_contacts] friction in each, to distinguish them */
    cg_ahead_t *leaving;   /* [n_guards] */
    cg_flights_t *flights; /* [n_guards] */
    double *residuals; /* [6 * n_consistency] before and after resets */

    /* Between steps. */
    int32_t pending;     /* 1: something occurs at run->t; 2: the state after it is to be recorded */
    int32_t n_solutions; /* of the last choice of modes */
    int32_t contact;     /* the contact that caused the choice; -1: no single one */
    int32_t verdict;     /* the status once the state after the event is recorded */
    int32_t again;       /* 1: what is handled makes more occur at run->t, see `fired` */
    int32_t cause;       /* the event that accumulates; -1: none */
    int32_t follows;     /* 1: what has fired follows from what was handled at run->t, before any step */
    int32_t watches_kinks; /* 1: with CG_WATCH_KINKS */
    double quiet;        /* at an instant: since when nothing has happened, or since the start */
    double anchor;       /* t_anchor and n_anchor before the last step */
    int64_t n_anchor;
    cg_detector_memory_t memory;
    double *done; /* [n_guards] how large the time was where the run goes on from this event; set after cg_run_start. Else 0 */
    cg_kernel_t when; /* the model's kernel of that name; NULL: no event has a condition */
} cg_detector_t;

size_t cg_detector_size(const cg_model_t *model, int32_t n_functions);
int cg_detector_init(cg_detector_t *detector, size_t size, const cg_model_t *model, int32_t n_functions, int32_t flags);

/* Saves and restores what a run needs of its detector, besides its own block, to continue bit for bit. `to` and `from`
 * have cg_detector_saved_size bytes. CG_BAD_ARGUMENT: from another kind of detector, or damaged; the detector is
 * unchanged. */
size_t cg_detector_saved_size(const cg_detector_t *detector);
void cg_detector_save(const cg_detector_t *detector, void *to);
int cg_detector_restore(cg_detector_t *detector, const void *from, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CG_EVENTS_H */

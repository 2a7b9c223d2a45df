/* Steps of the model MODEL by chaplygin.hpp, or by the header of its bundle with -DBUNDLE: steps METHOD P... U... X..., at 100 Hz for two seconds.
 *
 * The first input gets i % 3 added in step i. The second second runs twice, in a block of its own and, after the state in
 * between was saved and restored, in one of the caller's; both print their end, as bits. Then come the results of the
 * kernel `invariants` there. */
#include <cstdio>
#include <cstdlib>
#include <vector>

#define STRING(a) #a
#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#ifdef BUNDLE
#define HEADER(a) STRING(a.hpp)
#else
#include "chaplygin.hpp"
#define HEADER(a) STRING(a##_core.h)
#endif
#define HEADER_OF(a) HEADER(a)
#include HEADER_OF(MODEL)

static const cg_model_t &model = NAMED(MODEL, _model);

static void second(chaplygin::run &run, int first, double input)
{
    for (int i = first; i < first + 100; i++) {
        if (model.n_inputs > 0) {
            run.inputs()[0] = input + i % 3;
            run.inputs_changed();
        }
        run.advance((i + 1) / 100.0);
    }
}

static void print(const chaplygin::run &run)
{
    for (const double value : run.state()) std::printf("%a ", value);
    std::printf("\n");
}

/* Whether a call throws chaplygin::error with a status. */
template <typename Call> static bool throws(int status, Call call)
{
    try {
        call();
    } catch (const chaplygin::error &error) {
        return error.status == status && error.what()[0] != '\0';
    }
    return false;
}

static int misuses(const chaplygin::run &run, const char *method)
{
    std::vector<std::byte> small(chaplygin::run::size(model, method) - 1);
    std::vector<double> numbers(static_cast<std::size_t>(model.n_states) + 1);
    chaplygin::run other(model, method);

    return !throws(CG_BAD_ARGUMENT, [] { chaplygin::run(model, "no such method"); })
           + !throws(CG_BAD_ARGUMENT, [&] { chaplygin::run(model, method, small); })
           + !throws(CG_BAD_ARGUMENT, [&] { other.start(0.0, numbers); })
           + !throws(CG_BAD_ARGUMENT, [&] { other.save(small); })
           + !throws(CG_BAD_ARGUMENT, [&] { other.restore(small); })
           + !throws(CG_BAD_ARGUMENT, [&] { run.evaluate("rhs", numbers); })
           + !throws(CG_UNSUPPORTED, [&] { run.evaluate("jvp", numbers); });
}

int main(int argc, char **argv)
{
    const char *const method = argv[1];
    std::vector<double> given;
    for (int i = 2; i < argc; i++) given.push_back(std::atof(argv[i]));
    const double *number = given.data();

    chaplygin::run run(model, method);
    for (double &p : run.parameters()) p = *number++;
    for (double &u : run.inputs().first(static_cast<std::size_t>(model.n_inputs))) u = *number++;
    const double input = model.n_inputs > 0 ? run.inputs()[0] : 0.0;
    std::ranges::fill(run.tolerances(), 1e-9);
    run->rtol = 1e-9;
    run.start(0.0, {number, given.data() + given.size()});
    second(run, 0, input);
    std::vector<std::byte> saved(run.saved_size());
    run.save(saved);
    chaplygin::run moved = std::move(run);
    second(moved, 100, input);
    print(moved);

    const std::size_t size = chaplygin::run::size(model, method);
    std::vector<std::byte> memory(size + 64);
    void *block = memory.data();
    std::size_t room = memory.size();
    std::align(64, size, block, room);
    chaplygin::run again(model, method, {static_cast<std::byte *>(block), size});
    again.restore(saved);
    second(again, 100, input);
    print(again);
    const cg_kernel_entry_t *const invariants = cg_kernel(&model, "invariants");
    std::vector<double> out(invariants == nullptr ? 0 : static_cast<std::size_t>(invariants->length));
    if (invariants != nullptr) again.evaluate("invariants", out);
    for (const double value : out) std::printf("%a ", value);
    std::printf("\n");
    return misuses(again, method);
}

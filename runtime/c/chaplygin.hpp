/* chaplygin.hpp: a run of a model as a C++20 class.
 *
 *     chaplygin::run top(heavy_top_model, "dop853");
 *     std::ranges::copy(parameters, top.parameters().begin());
 *     top->rtol = 1e-9; // every member of cg_run_t, see cg_run.h
 *     top.start(0.0, state);
 *     while (...) top.advance_by(0.001); // then top.t(), top.state()
 *
 * A run has one block of memory, its own or the caller's; no function but the first constructor allocates. Events and
 * contacts of the model are detected. A model is constant, a run belongs to one thread at a time. What fails throws
 * chaplygin::error.
 */
#ifndef CHAPLYGIN_HPP
#define CHAPLYGIN_HPP

#include "cg_driver.h"
#include "cg_events.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>

namespace chaplygin {

/* A negative status. */
class error : public std::runtime_error {
public:
    explicit error(int code) : std::runtime_error(cg_status_text(code)), status(code) {}
    int status; /* enum cg_status */
};

class run {
public:
    /* Bytes for a run and the detector of its events; 0: unknown method. */
    static std::size_t size(const cg_model_t &model, const char *method)
    {
        const std::size_t bytes = cg_run_size(&model, method);
        return bytes == 0 ? 0 : aligned(bytes) + detector_size(model);
    }

    /* In memory of its own. */
    explicit run(const cg_model_t &model, const char *method = "dop853")
        : own_(static_cast<std::byte *>(::operator new(size(model, method), alignment)))
    {
        begin(model, method, {own_.get(), size(model, method)});
    }

    /* In the caller's memory: `size` bytes, aligned to 64, that outlive the run. */
    run(const cg_model_t &model, const char *method, std::span<std::byte> memory) { begin(model, method, memory); }

    /* Of the start of a run, to be filled before. The inputs are followed by the modes of contacts. */
    std::span<double> parameters() { return numbers(run_->p, model().n_parameters); }
    std::span<double> inputs() { return numbers(run_->u, run_->n_u); }
    std::span<double> tolerances() { return numbers(run_->atol, run_->n); } /* absolute ones */

    void start(double t, std::span<const double> state)
    {
        if (state.size() != static_cast<std::size_t>(run_->n)) throw error(CG_BAD_ARGUMENT);
        checked(cg_run_start(run_, t, state.data(), t));
    }

    /* Integrates to a time, or over a duration. CG_TERMINAL_EVENT: an event ended it before. */
    int advance(double t) { return checked(cg_run_advance(run_, t)); }
    int advance_by(double duration) { return advance(run_->t + duration); }

    double t() const { return run_->t; }
    std::span<const double> state() const { return numbers(run_->x, run_->n); }

    /* To be called after a change of the inputs, or of parameters or the state, during a run. */
    void inputs_changed() { cg_run_inputs_changed(run_); }
    void changed() { cg_run_changed(run_); }
    void moved() { cg_run_moved(run_); }

    /* The result of a kernel of the state, such as "outputs", at the current point. */
    void evaluate(const char *kernel, std::span<double> out) const
    {
        const cg_kernel_entry_t *const entry = cg_kernel(run_->model, kernel);
        if (entry == nullptr || entry->takes != CG_TAKES_STATE) throw error(CG_UNSUPPORTED);
        if (out.size() != static_cast<std::size_t>(entry->length)) throw error(CG_BAD_ARGUMENT);
        const auto function = reinterpret_cast<cg_kernel_t>(entry->function);
        checked(function(run_->t, run_->x, run_->p, run_->u, out.data(), run_->work));
    }

    /* Saves a run into `saved_size` bytes, with which it, or another one of the model and method, continues bit for bit. */
    std::size_t saved_size() const
    {
        return run_->size + (detector() == nullptr ? 0 : cg_detector_saved_size(detector()));
    }
    void save(std::span<std::byte> to) const
    {
        if (to.size() != saved_size()) throw error(CG_BAD_ARGUMENT);
        std::memcpy(to.data(), run_, run_->size);
        if (detector() != nullptr) cg_detector_save(detector(), to.data() + run_->size);
    }
    void restore(std::span<const std::byte> from)
    {
        if (from.size() != saved_size()) throw error(CG_BAD_ARGUMENT);
        if (detector() != nullptr)
            checked(cg_detector_restore(detector(), from.data() + run_->size, from.size() - run_->size));
        checked(cg_run_restore(run_, from.data(), run_->size));
    }

    const cg_model_t &model() const { return *run_->model; }
    cg_run_t *operator->() const { return run_; }

private:
    static constexpr std::align_val_t alignment{64};
    struct release {
        void operator()(std::byte *block) const { ::operator delete(block, alignment); }
    };

    static std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    static std::size_t detector_size(const cg_model_t &model)
    {
        return model.n_events > 0 || model.n_contacts > 0 ? cg_detector_size(&model, 0) : 0;
    }
    static int checked(int status)
    {
        if (status < 0) throw error(status);
        return status;
    }
    static std::span<double> numbers(double *first, int32_t count) { return {first, static_cast<std::size_t>(count)}; }
    cg_detector_t *detector() const { return run_->detector; }

    void begin(const cg_model_t &model, const char *method, std::span<std::byte> memory)
    {
        const std::size_t bytes = cg_run_size(&model, method), place = aligned(bytes), rest = detector_size(model);
        if (bytes == 0 || memory.size() < place + rest) throw error(CG_BAD_ARGUMENT);
        run_ = reinterpret_cast<cg_run_t *>(memory.data());
        checked(cg_run_init(run_, bytes, &model, method, 0));
        if (rest == 0) return;
        run_->detector = reinterpret_cast<cg_detector_t *>(memory.data() + place);
        checked(cg_detector_init(run_->detector, rest, &model, 0, 0));
    }

    std::unique_ptr<std::byte[], release> own_; /* empty: the memory is the caller's */
    cg_run_t *run_ = nullptr;
};

} // namespace chaplygin

#endif /* CHAPLYGIN_HPP */

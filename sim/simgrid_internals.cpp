#include "sim/simgrid_internals.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Comm.hpp>

#include "platforms/simgrid_version.hpp"

namespace simgrid::kernel::actor {

/// SimGrid exports this class, but its packages do not install the header. Only the function that is called
/// is declared: it ends a blocking call into the kernel, as SimGrid's comment on simcall_blocking explains.
class ActorImpl {
 public:
  void simcall_answer();
};

}  // namespace simgrid::kernel::actor

namespace simgrid::kernel::activity {

/// Declared here for the same reason as ActorImpl. The class derives from ActivityImpl alone, so both have
/// the same address.
class CommImpl {
 public:
  void finish();
};

}  // namespace simgrid::kernel::activity

namespace tandem::sim {

void ActorSleep::after(const std::function<bool()>& code) {
  if (actor_ == nullptr) actor_ = simgrid::s4u::Actor::self()->get_impl();
  struct Call {
    const std::function<bool()>& code;
    simgrid::kernel::actor::ActorImpl& actor;
    std::exception_ptr error;
  } call{code, *actor_, nullptr};
  // In one capture, which needs no memory of its own.
  simcall_run_blocking(
      [&call] {
        bool sleeps = false;
        try {
          sleeps = call.code();
        } catch (...) {
          call.error = std::current_exception();
        }
        if (!sleeps) call.actor.simcall_answer();
      },
      nullptr);
  if (call.error) std::rethrow_exception(call.error);
}

void ActorSleep::wake() { actor_->simcall_answer(); }

void take_off_list(simgrid::s4u::Comm& message) {
  if constexpr (simgrid_version::searches_all_messages)
    reinterpret_cast<simgrid::kernel::activity::CommImpl*>(message.get_impl())->finish();
}

}  // namespace tandem::sim

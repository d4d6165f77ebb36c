#include "sim/simgrid_internals.hpp"

#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/simix.hpp>

namespace simgrid::kernel::actor {

/// SimGrid exports this class, but its packages do not install the header. Only what is called is declared:
/// it ends a blocking call into the kernel, as the comment of simcall_blocking in simix.hpp explains.
class ActorImpl {
 public:
  void simcall_answer();
};

}  // namespace simgrid::kernel::actor

namespace simgrid::kernel::activity {

/// Like ActorImpl. The class derives from ActivityImpl alone, so both have the same address.
class CommImpl {
 public:
  void finish();
};

}  // namespace simgrid::kernel::activity

namespace tandem::sim {

void ActorSleep::after(const std::function<bool()>& code) {
  if (actor_ == nullptr) actor_ = simgrid::s4u::Actor::self()->get_impl();
  simgrid::kernel::actor::simcall_blocking([this, &code] {
    // Also when the code throws; the exception leaves through the call.
    struct Answer {
      ~Answer() {
        if (is_due) actor.simcall_answer();
      }
      simgrid::kernel::actor::ActorImpl& actor;
      bool is_due = true;
    } answer{*actor_};
    answer.is_due = !code();
  });
}

void ActorSleep::wake() { actor_->simcall_answer(); }

void take_off_list(simgrid::s4u::Comm& message) {
  reinterpret_cast<simgrid::kernel::activity::CommImpl*>(message.get_impl())->finish();
}

}  // namespace tandem::sim

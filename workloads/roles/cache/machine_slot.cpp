#include "workloads/roles/cache/machine_slot.hpp"

#include <limits>

#include "workloads/membership/occupant_context.hpp"

namespace tandem {

MachineSlot::MachineSlot(const Job& job, Context& context, Journal& journal)
    : job_(job),
      context_(context),
      journal_(journal),
      steward_(context, *job.roster().steward(), protocol::channel<"occupancies">()) {}

void MachineSlot::run(const Live& live) {
  protocol::Occupancy occupancy{.departs = Seconds(std::numeric_limits<double>::infinity())};
  // Where the job has started again, its machine may have departed before.
  if (job_.generation() == nullptr || job_.generation()->number() == 0) {
    occupancy.incarnation = 1;
    this->live(live, occupancy);
  }
  while (true) {
    const Note note = steward_.wait();
    if (protocol::as<protocol::End>(note)) return steward_.close();
    const auto next = protocol::unpack<protocol::Occupancy>(note);
    // A note about an earlier occupant has no effect.
    if (next.incarnation > occupancy.incarnation) this->live(live, occupancy = next);
  }
}

void MachineSlot::live(const Live& live, const protocol::Occupancy& occupancy) {
  OccupantContext context(context_, steward_, occupancy);
  try {
    live(context, occupancy.incarnation);
    context.end();
  } catch (const OccupantDeparted&) {
    constexpr int of_no_worker = -1;
    const RankAssignment& assignment = job_.roster().assignment(context_.rank());
    journal_.membership.push_back({.time = context_.now(),
                                   .slot = of_no_worker,
                                   .incarnation = occupancy.incarnation + occupancy.before,
                                   .host = assignment.host,
                                   .event = "gone",
                                   .role = role_name(assignment.role)});
  }
}

}  // namespace tandem

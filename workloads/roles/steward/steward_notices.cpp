#include "workloads/roles/steward/steward_notices.hpp"

#include <algorithm>
#include <limits>

#include "workloads/job/plan/zones.hpp"

namespace tandem {

StewardNotices::StewardNotices(const Job& job, Context& context, Journal& journal)
    : job_(job), context_(context), journal_(journal), known_(job.spec().directory, places_of(job)) {
  if (job.generation() != nullptr) began_ = job.generation()->began;
}

void StewardNotices::announce(Place& place) {
  const auto departs = place.machines->known_departure(place.machine);
  place.announced = place.incarnation;
  place.is_gone = false;
  place.departs_by_itself = departs.has_value();
  constexpr Seconds never(std::numeric_limits<double>::infinity());
  notify_occupancy(place, place.incarnation, departs.value_or(never));
}

void StewardNotices::on_event(Place& place, const MachineEvent& event) {
  using What = MachineEvent::What;
  if (event.what == What::ready) place.incarnation = event.incarnation;
  record(place, to_text(event.what), cause_text(event));
  // A machine that waits has no occupant.
  if (event.what != What::departed || place.announced != event.incarnation) return;
  place.is_gone = true;
  if (!place.departs_by_itself) notify_occupancy(place, event.incarnation, std::max(event.at, Seconds(0)));
}

/// Places count as this launch does, and on its clock.
void StewardNotices::notify_occupancy(const Place& place, int incarnation, Seconds departs) {
  const protocol::Occupancy note{
      .incarnation = place.in_launch(incarnation), .departs = departs - began_, .before = place.before};
  if (place.role == Roster::Role::worker)
    notify<"membership">(place.rank, note);
  else
    notify<"occupancies">(place.rank, note);
}

/// Rows of machines without workers have no slot.
void StewardNotices::record(const Place& place, const std::string& event, const std::string& cause) {
  note({.time = now() - began_,
        .slot = place.worker,
        .incarnation = place.incarnation,
        .host = job_.roster().host_of(place.rank),
        .event = event,
        .cause = cause,
        .view = view_,
        .role = role_name(place.role)});
}

void StewardNotices::record_job(const std::string& event) {
  constexpr int no_slot = -1;
  note({.time = now() - began_, .slot = no_slot, .event = event, .view = view_});
}

/// `change`: with its time in this launch.
void StewardNotices::note(const MembershipRecord& change) {
  journal_.membership.push_back(change);
  MembershipRecord of_job = change;
  of_job.time += began_;
  known_.add(of_job);
}

}  // namespace tandem

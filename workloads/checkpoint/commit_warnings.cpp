// The part of Commits that hears of machines that will be taken away, and tells the rank that decides.
#include <algorithm>

#include "workloads/checkpoint/commits.hpp"

namespace tandem {

/// The same on every rank of the job.
bool Commits::may_be_warned() const {
  const Generation* const generation = job_.generation();
  return notices_.take_warning || (generation != nullptr && !generation->warnings.empty());
}

/// What this process has been told, and on the rank that decides what others have.
void Commits::hear_warnings() {
  hear_drawn_warnings();
  if (notices_.take_warning)
    while (const auto notice = notices_.take_warning()) {
      record_warning();
      note_warning(context_.rank(), context_.now() + *notice);
    }
  for (WarningLine& line : warnings_)
    while (context_.is_done(line.next)) {
      const auto warned = protocol::unpack<protocol::Warned>(context_.wait(line.next).note);
      note_warning(line.rank, warned.departs);
      line.next = protocol::receive<"warnings">(context_, line.rank);
    }
  if (ends_ || !schedule_ || !notices_.is_end_requested || !notices_.is_end_requested()) return;
  ends_ = plan_.may_be_requested();
  if (ends_) schedule_->request();
}

/// Machines that depart as it was drawn: the generation has the records of their warnings.
void Commits::hear_drawn_warnings() {
  const Generation* const generation = job_.generation();
  if (generation == nullptr) return;
  const Seconds now = generation->began + context_.now();
  const auto& warnings = generation->warnings;
  for (; drawn_warnings_ < warnings.size() && warnings[drawn_warnings_].at <= now; ++drawn_warnings_) {
    const DrawnWarning& warning = warnings[drawn_warnings_];
    if (roster_.workers()[static_cast<std::size_t>(warning.slot)] == context_.rank())
      note_warning(context_.rank(), warning.departs - generation->began);
  }
}

void Commits::record_warning() {
  if (assignment_.role != Roster::Role::worker) return;
  journal_.membership.push_back({.time = context_.now(),
                                 .slot = assignment_.index,
                                 .incarnation = 1,
                                 .host = assignment_.host,
                                 .event = "warned",
                                 .role = role_name(assignment_.role)});
}

/// The ranks begin at one time, so a time means the same to all.
void Commits::note_warning(Rank rank, Seconds departs) {
  const Seconds now = context_.now();
  if (schedule_)
    return schedule_->warned(now, plan_.slots[static_cast<std::size_t>(rank)],
                             std::max(Seconds(), departs - now));
  if (!plan_.commits_on_warning) return;
  if (!warned_.empty()) context_.wait(warned_);
  warned_ = protocol::send<"warnings">(context_, plan_.decider, protocol::Warned{departs});
}

}  // namespace tandem

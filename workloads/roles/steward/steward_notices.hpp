// The notes of the steward to ranks, and its records of every event of a machine. While it decides again
// about events before this launch, it sends no notes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/machines.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/membership_file.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/steward/place.hpp"

namespace tandem {

class StewardNotices {
 public:
  /// The arguments must outlive it.
  StewardNotices(const Job& job, Context& context, Journal& journal);

  /// Since the job began.
  Seconds now() const { return past_.value_or(began_ + context_.now()); }
  /// The time of present decisions, before this launch; none: they happen now.
  void set_past(std::optional<Seconds> past) { past_ = past; }
  bool is_past() const { return past_.has_value(); }

  /// All receivers expect notes at any time, so no note waits.
  template <protocol::Name stream>
  void notify(Rank rank, const protocol::NoteOf<stream>& note, Slice slice = {}) {
    if (!past_) sent_.push_back(protocol::send<stream>(context_, rank, note, slice));
  }
  /// Notifies the place of its occupant, and of the time of its departure, if this is known.
  void announce(Place& place);
  /// Records an event of the machine of any place. If the machine has departed, notifies its occupant.
  void on_event(Place& place, const MachineEvent& event);
  /// Waits until all notes are sent.
  void finish() { context_.wait_all(sent_); }

  void record(const Place& place, const std::string& event, const std::string& cause = "");
  /// Records an event of all workers.
  void record_job(const std::string& event);
  /// Number of the view of the members, for the records from now on.
  void set_view(std::int64_t view) { view_ = view; }

 private:
  void notify_occupancy(const Place& place, int incarnation, Seconds departs);
  void note(const MembershipRecord& change);

  const Job& job_;
  Context& context_;
  Journal& journal_;
  MembershipFile known_;  ///< the same as in the journal
  Seconds began_{};       ///< this launch, since the job began
  std::optional<Seconds> past_;
  std::int64_t view_ = 0;
  std::vector<Pending> sent_;
};

}  // namespace tandem

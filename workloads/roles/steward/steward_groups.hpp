// The steward where workers exchange without servers: how they agree on who is a member, and when all have
// finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/slots_of_view.hpp"
#include "workloads/membership/agreement.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/steward/place.hpp"
#include "workloads/roles/steward/steward_notices.hpp"

namespace tandem {

class StewardGroups {
 public:
  /// `slots`: of workers, of which the first `first` begin. The arguments must outlive it.
  StewardGroups(Context& context, StewardNotices& notices, std::span<const Place> slots, std::size_t first)
      : context_(context),
        notices_(notices),
        slots_(slots),
        agreement_(static_cast<int>(slots.size()), static_cast<int>(first)),
        has_arrived_(slots.size(), true) {}

  bool is_over() const { return agreement_.is_over(); }
  /// Expects the next note of the worker.
  Pending listen(std::size_t slot) const { return protocol::receive<"groups">(context_, slots_[slot].rank); }
  /// True: the worker has finished its part of the job, so no worker joins any more.
  bool on_message(int slot, const Note& note);
  void leave(int slot) { agreement_.leave(slot); }
  void join(int slot, int incarnation);
  /// Notifies the workers of a change that has begun, and of the members once they agree. `view`: number of
  /// the present view. `resumes`: they may train. Errors: WorldError when the model is lost.
  void advance(std::int64_t view, bool resumes);
  /// The job is over for all. `awaited`: the receives of their next notes.
  void end(std::span<Pending> awaited);

 private:
  void notify_of_change(int slot);
  void notify_of_members(const Agreement::Members& members);
  Slice keep_standings(protocol::SlotsOfView slots);
  Rank rank_of(int slot) const { return slots_[static_cast<std::size_t>(slot)].rank; }

  Context& context_;
  StewardNotices& notices_;
  std::span<const Place> slots_;
  Agreement agreement_;
  std::vector<bool> has_arrived_;                 ///< by slot: the occupant receives the steward's notes
  std::deque<std::vector<std::byte>> standings_;  ///< that were sent
};

}  // namespace tandem

#include "workloads/roles/steward/steward_groups.hpp"

#include <iterator>
#include <utility>

namespace tandem {

bool StewardGroups::on_message(int slot, const Note& note) {
  if (const auto arrived = protocol::as<protocol::Arrived>(note)) {
    if (arrived->incarnation != agreement_.incarnation(slot)) return false;
    has_arrived_[static_cast<std::size_t>(slot)] = true;
    notify_of_change(slot);
    return false;
  }
  if (const auto quiet = protocol::as<protocol::Quiet>(note)) {
    agreement_.note_quiet(slot, quiet->incarnation, quiet->view, quiet->round, quiet->taken);
    return false;
  }
  const auto finished = protocol::unpack<protocol::Finished>(note);
  agreement_.note_finished(slot, finished.incarnation, finished.view);
  return true;
}

/// A newcomer learns of a change when it has arrived.
void StewardGroups::join(int slot, int incarnation) {
  has_arrived_[static_cast<std::size_t>(slot)] = false;
  agreement_.join(slot, incarnation);
}

void StewardGroups::advance(std::int64_t view, bool resumes) {
  if (agreement_.begin(view))
    for (const int slot : agreement_.present())
      if (has_arrived_[static_cast<std::size_t>(slot)]) notify_of_change(slot);
  if (agreement_.has_lost_state())
    throw WorldError("the job gives up: the machines of all workers that had the model have departed");
  if (!resumes) return;
  if (const auto members = agreement_.take_members()) notify_of_members(*members);
}

void StewardGroups::notify_of_change(int slot) {
  const int source = agreement_.source();
  const bool has_source = source >= 0 && agreement_.is_still_member(source);
  const protocol::Regroup note{.view = static_cast<std::int32_t>(agreement_.view()),
                               .incarnation = agreement_.incarnation(slot),
                               .has_source = has_source};
  if (!has_source || slot != source) return notices_.notify<"groups">(rank_of(slot), note);
  protocol::SlotsOfView slots(slots_.size());
  for (const int member : agreement_.present())
    if (agreement_.is_still_member(member))
      slots.set(static_cast<std::size_t>(member), protocol::Standing::current, 0);
  notices_.notify<"groups">(rank_of(slot), note, keep_standings(std::move(slots)));
}

Slice StewardGroups::keep_standings(protocol::SlotsOfView slots) {
  auto& bytes = standings_.emplace_back(std::move(slots).take());
  return {Bytes(std::ssize(bytes)), bytes.data()};
}

void StewardGroups::notify_of_members(const Agreement::Members& members) {
  protocol::SlotsOfView slots(slots_.size());
  for (std::size_t member = 0; member < members.slots.size(); ++member)
    slots.set(static_cast<std::size_t>(members.slots[member]),
              members.behind[member] ? protocol::Standing::behind : protocol::Standing::current,
              members.taken[member]);
  const Slice list = keep_standings(std::move(slots));
  for (const int slot : members.slots)
    notices_.notify<"groups">(rank_of(slot),
                              protocol::Members{.view = static_cast<std::int32_t>(agreement_.view()),
                                                .incarnation = agreement_.incarnation(slot),
                                                .source = members.source,
                                                .leader = members.leader,
                                                .round = members.round},
                              list);
}

void StewardGroups::end(std::span<Pending> awaited) {
  for (const int slot : agreement_.present()) notices_.notify<"groups">(rank_of(slot), protocol::End{});
  context_.cancel_all(awaited);
  context_.wait_all(awaited);
}

}  // namespace tandem

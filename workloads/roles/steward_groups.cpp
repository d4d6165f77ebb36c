// The steward where workers exchange without servers: how they agree on who is a member, and when all have
// finished.
#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/steward.hpp"

namespace tandem {

void Steward::listen_to_group(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  awaited_[deciders_.size() + nodes_.size() + index] =
      protocol::receive<"groups">(context_, slots_[index].rank);
}

void Steward::hear_group(int slot, const Note& note) {
  Slot& sender = slots_[static_cast<std::size_t>(slot)];
  listen_to_group(slot);
  if (const auto arrived = protocol::as<protocol::Arrived>(note)) {
    if (arrived->incarnation != agreement_->incarnation(slot)) return;
    sender.has_arrived = true;
    return tell_change(slot);
  }
  if (const auto quiet = protocol::as<protocol::Quiet>(note))
    return agreement_->note_quiet(slot, quiet->incarnation, quiet->epoch, quiet->round, quiet->taken);
  const auto finished = protocol::unpack<protocol::Finished>(note);
  // Nobody would have anything left to do.
  end_joins();
  agreement_->note_finished(slot, finished.incarnation, finished.epoch);
}

/// A newcomer learns of the change when it has arrived.
void Steward::advance_agreement() {
  if (agreement_->begin(epoch_))
    for (const int slot : agreement_->present())
      if (slots_[static_cast<std::size_t>(slot)].has_arrived) tell_change(slot);
  if (agreement_->has_lost_state())
    throw WorldError("the job gives up: the machines of all workers that had the model have departed");
  // At the end of the job nothing resumes any more, and all who are left have to finish.
  if (is_paused_ && !is_ending_) return;
  if (const auto members = agreement_->take_members()) tell_members(*members);
}

void Steward::tell_change(int slot) {
  const int source = agreement_->source();
  const bool has_source = source >= 0 && agreement_->is_still_member(source);
  const protocol::Regroup note{.epoch = static_cast<std::int32_t>(agreement_->epoch()),
                               .incarnation = agreement_->incarnation(slot),
                               .has_source = has_source};
  const Rank rank = slots_[static_cast<std::size_t>(slot)].rank;
  if (!has_source || slot != source) return tell<"groups">(rank, note);
  protocol::SlotsOfEpoch slots(slots_.size());
  for (const int member : agreement_->present())
    if (agreement_->is_still_member(member))
      slots.set(static_cast<std::size_t>(member), protocol::Standing::current, 0);
  tell<"groups">(rank, note, keep_standings(std::move(slots)));
}

Slice Steward::keep_standings(protocol::SlotsOfEpoch slots) {
  auto& bytes = standings_.emplace_back(std::move(slots).take());
  return {Bytes(std::ssize(bytes)), bytes.data()};
}

void Steward::tell_members(const Agreement::Members& members) {
  protocol::SlotsOfEpoch slots(slots_.size());
  for (std::size_t member = 0; member < members.slots.size(); ++member)
    slots.set(static_cast<std::size_t>(members.slots[member]),
              members.behind[member] ? protocol::Standing::behind : protocol::Standing::current,
              members.taken[member]);
  const Slice list = keep_standings(std::move(slots));
  for (const int slot : members.slots)
    tell<"groups">(slots_[static_cast<std::size_t>(slot)].rank,
                   protocol::Members{.epoch = static_cast<std::int32_t>(agreement_->epoch()),
                                     .incarnation = agreement_->incarnation(slot),
                                     .source = members.source,
                                     .leader = members.leader,
                                     .round = members.round},
                   list);
}

void Steward::end_groups() {
  for (const int slot : agreement_->present())
    tell<"groups">(slots_[static_cast<std::size_t>(slot)].rank, protocol::End{});
  context_.cancel_all(awaited_);
  context_.wait_all(awaited_);
}

}  // namespace tandem

#include "workloads/membership/agreement.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem {

Agreement::Agreement(int slots, int workers)
    : slots_(static_cast<std::size_t>(slots)),
      present_(static_cast<std::size_t>(workers)),
      unreported_(present_),
      unfinished_(present_) {
  TANDEM_CHECK(workers > 0 && workers <= slots, slots, workers);
  for (int slot = workers; slot < slots; ++slot) at(slot) = {.is_present = false, .incarnation = 0};
}

void Agreement::leave(int slot) {
  TANDEM_CHECK(is_present(slot), "slot", slot, "is empty already");
  Slot& left = at(slot);
  left.is_present = false;
  --present_;
  if (!left.round) --unreported_;
  if (!left.has_finished) --unfinished_;
  if (slot == leader_) leader_has_finished_ = false;
  has_changed_ = true;
}

void Agreement::join(int slot, int incarnation) {
  TANDEM_CHECK(!is_present(slot) && incarnation > at(slot).incarnation, "slot", slot, "incarnation",
               incarnation);
  at(slot) = {.incarnation = incarnation};
  ++present_;
  ++unreported_;
  ++unfinished_;
  has_changed_ = true;
}

bool Agreement::begin(std::int64_t view) {
  if (!has_changed_) return false;
  TANDEM_CHECK(view > view_, "view", view, "after", view_);
  view_ = view;
  has_changed_ = false;
  is_open_ = true;
  for (Slot& slot : slots_) {
    slot.round.reset();
    slot.has_finished = false;
  }
  unreported_ = unfinished_ = present_;
  return true;
}

bool Agreement::is_of_now(int slot, int incarnation, std::int64_t view) const {
  return view == view_ && is_present(slot) && at(slot).incarnation == incarnation;
}

void Agreement::note_quiet(int slot, int incarnation, std::int64_t view, std::int64_t round,
                           std::int64_t taken) {
  if (!is_of_now(slot, incarnation, view)) return;
  if (!at(slot).round) --unreported_;
  at(slot).round = round;
  at(slot).taken = taken;
}

bool Agreement::all_have_reported() const {
  return !has_changed_ && is_open_ && present_ > 0 && unreported_ == 0;
}

bool Agreement::has_lost_state() const {
  return all_have_reported() &&
         std::ranges::all_of(slots_, [](const Slot& slot) { return !slot.is_present || *slot.round < 0; });
}

std::optional<Agreement::Members> Agreement::take_members() {
  if (!all_have_reported() || has_lost_state()) return std::nullopt;
  is_open_ = false;
  Members members{.slots = present(), .behind = {}, .taken = {}};
  members.source = members.slots.front();
  for (const int slot : members.slots)
    if (*at(slot).round > *at(members.source).round) members.source = slot;
  members.round = *at(members.source).round;
  source_ = members.source;
  if (!leader_has_finished_) leader_ = members.slots.front();
  members.leader = leader_;
  constexpr std::int64_t none = -1;
  for (const int slot : members.slots) {
    members.behind.push_back(*at(slot).round < members.round);
    members.taken.push_back(*at(slot).round < 0 ? none : at(slot).taken);
    at(slot).member = at(slot).incarnation;
  }
  return members;
}

bool Agreement::is_still_member(int slot) const {
  return is_present(slot) && at(slot).member == at(slot).incarnation;
}

void Agreement::note_finished(int slot, int incarnation, std::int64_t view) {
  if (slot == leader_ && is_present(slot) && at(slot).incarnation == incarnation)
    leader_has_finished_ = a_leader_has_finished_ = true;
  if (!is_of_now(slot, incarnation, view)) return;
  if (!at(slot).has_finished) --unfinished_;
  at(slot).has_finished = true;
}

bool Agreement::is_over() const {
  if (present_ == 0) return a_leader_has_finished_;
  return !has_changed_ && unfinished_ == 0;
}

std::vector<int> Agreement::present() const {
  std::vector<int> slots;
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot)
    if (is_present(slot)) slots.push_back(slot);
  return slots;
}

}  // namespace tandem

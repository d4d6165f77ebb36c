// How the workers of a job without servers agree on a change of their set: the steward's state. Pure: events
// come in, and the caller sends what follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tandem {

/// Every change begins a new view. Each member then ends the open operations with the others and reports the
/// last round that it has finished. When all have reported, the members of the view and the round from which
/// they continue are known. If the members change before that, a newer view begins, and reports of older
/// views do not count. A member that is getting the state gets all of it first, if its source is still
/// there: changes may come faster than a model is sent.
class Agreement {
 public:
  /// Workers in `slots` slots, in view 0: the first `workers` of them are present.
  Agreement(int slots, int workers);

  void leave(int slot);
  /// A worker without the state of training.
  void join(int slot, int incarnation);

  /// If the set has changed since the last view began, this view begins, and all present() must be notified.
  bool begin(std::int64_t view);
  std::int64_t view() const { return view_; }

  /// `round`: below 0 without the state of training. `taken`: see Members. Reports of earlier occupants are
  /// ignored.
  void note_quiet(int slot, int incarnation, std::int64_t view, std::int64_t round, std::int64_t taken = 0);
  struct Members {
    std::vector<int> slots;           ///< sorted
    std::vector<bool> behind;         ///< of these slots: fewer rounds than the source
    int source = 0;                   ///< a slot that has finished the last round; the lowest one
    int leader = 0;                   ///< see leader_
    std::int64_t round = 0;           ///< that round
    std::vector<std::int64_t> taken;  ///< samples, as these slots have reported; -1: without the state
  };
  /// The members, once, when all members of the view have reported and there are any.
  std::optional<Members> take_members();
  /// Slot of the source among the members that take_members() returned last; -1: it returned none.
  int source() const { return source_; }
  /// The slot has the same occupant as in the members that take_members() returned last.
  bool is_still_member(int slot) const;
  /// Members have reported, and none of them has the state of training.
  bool has_lost_state() const;

  void note_finished(int slot, int incarnation, std::int64_t view);
  /// All present members have finished the job in the current view; or the leader has finished it once, and
  /// all have departed.
  bool is_over() const;

  bool is_present(int slot) const { return at(slot).is_present; }
  int incarnation(int slot) const { return at(slot).incarnation; }
  std::vector<int> present() const;

 private:
  struct Slot {
    bool is_present = true;
    int incarnation = 1;
    int member = 0;                          ///< the incarnation in the last take_members()
    std::int64_t taken = 0;                  ///< as reported with `round`
    std::optional<std::int64_t> round = {};  ///< as reported in this view
    bool has_finished = false;               ///< as reported in this view
  };
  Slot& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  const Slot& at(int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }
  bool is_of_now(int slot, int incarnation, std::int64_t view) const;
  bool all_have_reported() const;

  std::vector<Slot> slots_;
  // Counted, because each of a thousand reports asks whether all have reported.
  std::size_t present_ = 0;
  std::size_t unreported_ = 0;  ///< of those present
  std::size_t unfinished_ = 0;  ///< of those present
  std::int64_t view_ = 0;
  bool has_changed_ = false;  ///< since the view began
  bool is_open_ = false;      ///< take_members() has not returned them
  int source_ = -1;
  /// Slot of the member that has the duties of one for all: the lowest slot. A member that has done the
  /// duties at the end of the job keeps them while it is there, so that a newcomer in a lower slot does not
  /// do them again.
  int leader_ = 0;
  bool leader_has_finished_ = false;  ///< the leader has done its duties at the end
  bool a_leader_has_finished_ = false;
};

}  // namespace tandem

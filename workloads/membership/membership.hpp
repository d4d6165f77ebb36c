// The members of a job: the events of the machines of its slots, and the decisions of the recovery policy
// about them. Pure, without a clock: one machine for jobs that continue in place (Steward) and jobs that
// start again (RestartSteward), in simulation and measurement.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/recovery/policy.hpp"
#include "policies/vocabulary/choices.hpp"
#include "workloads/membership/machines.hpp"

namespace tandem {

/// An action that the caller records and carries out.
struct MemberAction {
  enum class What : std::uint8_t {
    machine,    ///< something has happened to a machine: see MemberAction::machine
    requested,  ///< a machine, for the slot
    joined,     ///< the machine in the slot is a member
    released,   ///< it is not a member any more, and waits
    paused,     ///< training: there are too few members
    resumed,
    restarted,  ///< all members start again
    gave_up     ///< the job ends without success: see MemberAction::why
  };
  What what = What::machine;
  Seconds at{};
  int slot = -1;          ///< -1: it is about the whole job
  std::int64_t view = 0;  ///< number of the view from now on: changes of the members so far
  MachineEvent machine = {};
  bool ends_member = false;  ///< with a departure that is noticed: the view has changed
  std::string why = {};
};

template <>
inline constexpr std::array<ChoiceName<MemberAction::What>, 8> choice_names<MemberAction::What> = {
    {{MemberAction::What::machine, "machine"},
     {MemberAction::What::requested, "requested"},
     {MemberAction::What::joined, "joined"},
     {MemberAction::What::released, "released"},
     {MemberAction::What::paused, "paused"},
     {MemberAction::What::resumed, "resumed"},
     {MemberAction::What::restarted, "restarted"},
     {MemberAction::What::gave_up, "gave_up"}}};

/// All times are seconds since the job began. The fates of the machines and the policy alone decide what
/// happens, whenever the caller takes it. So a new launch of the job finds the present members when it takes
/// all that has happened so far.
class Membership {
 public:
  struct Setting {
    int workers = 0;  ///< slots of these come first
    int slots = 0;    ///< the others are for machines without workers, which the caller requests itself
    /// true: the policy gets an event each time that no machine is available, and may request one again
    /// later. false: it gets the event only while training is paused, and then the job gives up.
    bool may_ask_again = true;
    bool has_deadline = false;  ///< the policy gives up after a time without enough members
  };
  /// `policy`: null: slots of workers stay empty.
  Membership(const Setting& setting, Machines machines, std::unique_ptr<recovery::Policy> policy);

  /// The result of an event.
  struct Step {
    Seconds at{};
    std::optional<recovery::Event> event = {};  ///< for the policy
    recovery::Decisions decisions = {};         ///< of the policy, on the event
    std::vector<MemberAction> actions = {};     ///< in their order
  };
  /// The job begins, with a member in each of the first slots of workers, and a machine in each of the slots
  /// after those of workers. Errors: ConfigError if the lifetime model has no machine there.
  Step begin(int first);
  /// The time of the next event; none: nothing happens any more.
  std::optional<Seconds> next() const;
  /// Takes the next event. Pre: next().
  Step take();

  /// Requests a machine for an empty slot after those of workers.
  void request(int slot, Seconds at) { machines_.request(slot, at); }
  /// No worker joins any more: the policy has nothing left to decide.
  void close() { is_closed_ = true; }

  std::int64_t view() const { return view_; }
  bool is_paused() const { return is_paused_; }
  bool is_member(int slot) const { return at(slot).is_member; }
  bool has_machine(int slot) const { return at(slot).has_machine; }
  int incarnation(int slot) const { return at(slot).incarnation; }  ///< of the slot's last machine
  const Machines& machines() const { return machines_; }
  std::vector<int> members() const;
  /// There are no members, or too few, and no machine will ever come.
  bool waits_in_vain(Seconds now);

 private:
  struct Slot {
    int incarnation = 0;
    bool has_machine = false;
    bool is_member = false;  ///< by the policy's decisions
  };
  Slot& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  const Slot& at(int slot) const { return slots_.at(static_cast<std::size_t>(slot)); }
  bool is_of_worker(int slot) const { return slot < setting_.workers; }
  void occupy(int slot, Step& step);
  void handle(const MachineEvent& event, Step& step);
  void inform(const MachineEvent& event, Step& step);
  void refuse(const MachineEvent& event, Step& step);
  void ask(const recovery::Event& event, Step& step);
  void carry_out(const recovery::Decision& decision, Step& step);
  void change(int slot, bool is_member);
  void act(MemberAction::What what, int slot, Step& step) const;

  Setting setting_;
  Machines machines_;
  std::unique_ptr<recovery::Policy> policy_;
  std::vector<Slot> slots_;
  std::optional<Seconds> tick_;  ///< that the policy has asked for
  std::int64_t view_ = 0;
  bool is_paused_ = false;
  bool is_closed_ = false;
};

}  // namespace tandem
